"""Batched contact pipeline: shapes and poses to contacts, on CPU and CUDA alike."""

from .bounding import BoundingCapsule, BoundingSphere, bounding_capsule, bounding_sphere
from .build import build_model
from .contacts import SLOT_BYTES, Contacts, create_contacts
from .cooking import (
    BoundingBox,
    CookingCache,
    bounding_box,
    cached_hull,
    cached_mesh,
    decompose,
    simplify,
)
from .errors import (
    ArrayError,
    CapacityError,
    CapacityWarning,
    ContactError,
    HullError,
    MeshError,
    MissingLibraryError,
    PairError,
    ShapeError,
    UnsupportedPairError,
    UnsupportedShapeError,
)
from .face_sets import FaceSet
from .hulls import Hull, cook_hull
from .meshes import TriangleMesh, cook_height_field, cook_mesh
from .model import Materials, Model
from .overflow import Shortage, find_shortages, settle_overflow
from .overlap_marks import MeshQuery, create_mesh_query, is_closed, mark_overlaps
from .pair_search import BroadPhase, PairSearch
from .pairs import candidate_pairs, replicate_pairs
from .pipeline import collide, collide_kernels, collide_launch_count
from .point_obstacles import PointObstacles
from .point_sets import (
    PointContacts,
    PointShapes,
    collide_points,
    create_point_contacts,
    create_point_shapes,
)
from .queries import (
    QueryTree,
    RayHitLists,
    RayHits,
    cast_rays,
    create_query_tree,
    create_ray_hit_lists,
    create_ray_hits,
    update_query_tree,
)
from .ranges import EnvironmentRange, collide_range, split_environments
from .sdf_shapes import SdfGeometry, cook_sdf, sdf_of_field
from .shapes import CONVEX_SHAPES, CombineMode, ShapeType, manifold_size, pair_is_supported
from .sphere_sets import SphereSet, cook_spheres, fill_spheres
from .surface_sets import SurfaceSet
from .swept import SweptPairs, create_swept_pairs, hold_swept
from .volumes import (
    NearestHits,
    QueryShapes,
    closest_points,
    create_nearest_hits,
    create_query_shapes,
    find_overlaps,
    sweep_shapes,
)

__all__ = [
    "CONVEX_SHAPES",
    "SLOT_BYTES",
    "ArrayError",
    "BoundingBox",
    "BoundingCapsule",
    "BoundingSphere",
    "BroadPhase",
    "CapacityError",
    "CapacityWarning",
    "CombineMode",
    "ContactError",
    "Contacts",
    "CookingCache",
    "EnvironmentRange",
    "FaceSet",
    "Hull",
    "HullError",
    "Materials",
    "MeshError",
    "MeshQuery",
    "MissingLibraryError",
    "Model",
    "NearestHits",
    "PairError",
    "PairSearch",
    "PointContacts",
    "PointObstacles",
    "PointShapes",
    "QueryShapes",
    "QueryTree",
    "RayHitLists",
    "RayHits",
    "SdfGeometry",
    "ShapeError",
    "ShapeType",
    "Shortage",
    "SphereSet",
    "SurfaceSet",
    "SweptPairs",
    "TriangleMesh",
    "UnsupportedPairError",
    "UnsupportedShapeError",
    "bounding_box",
    "bounding_capsule",
    "bounding_sphere",
    "build_model",
    "cached_hull",
    "cached_mesh",
    "candidate_pairs",
    "cast_rays",
    "closest_points",
    "collide",
    "collide_kernels",
    "collide_launch_count",
    "collide_points",
    "collide_range",
    "cook_height_field",
    "cook_hull",
    "cook_mesh",
    "cook_sdf",
    "cook_spheres",
    "create_contacts",
    "create_mesh_query",
    "create_nearest_hits",
    "create_point_contacts",
    "create_point_shapes",
    "create_query_shapes",
    "create_query_tree",
    "create_ray_hit_lists",
    "create_ray_hits",
    "create_swept_pairs",
    "decompose",
    "fill_spheres",
    "find_overlaps",
    "find_shortages",
    "hold_swept",
    "is_closed",
    "manifold_size",
    "mark_overlaps",
    "pair_is_supported",
    "replicate_pairs",
    "sdf_of_field",
    "settle_overflow",
    "simplify",
    "split_environments",
    "sweep_shapes",
    "update_query_tree",
]
