"""Batched contact pipeline: shapes and poses to contacts, on CPU and CUDA alike."""

from .contacts import SLOT_BYTES, Contacts, create_contacts
from .errors import (
    ArrayError,
    ContactError,
    HullError,
    MeshError,
    PairError,
    ShapeError,
    UnsupportedPairError,
    UnsupportedShapeError,
)
from .hulls import Hull, cook_hull
from .meshes import TriangleMesh, cook_height_field, cook_mesh
from .model import Materials, Model, build_model
from .pair_search import BroadPhase, PairSearch
from .pairs import candidate_pairs, replicate_pairs
from .pipeline import collide
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
from .shapes import CombineMode, ShapeType, manifold_size, pair_is_supported

__all__ = [
    "SLOT_BYTES",
    "ArrayError",
    "BroadPhase",
    "CombineMode",
    "ContactError",
    "Contacts",
    "Hull",
    "HullError",
    "Materials",
    "MeshError",
    "Model",
    "PairError",
    "PairSearch",
    "QueryTree",
    "RayHitLists",
    "RayHits",
    "ShapeError",
    "ShapeType",
    "TriangleMesh",
    "UnsupportedPairError",
    "UnsupportedShapeError",
    "build_model",
    "candidate_pairs",
    "cast_rays",
    "collide",
    "cook_height_field",
    "cook_hull",
    "cook_mesh",
    "create_contacts",
    "create_query_tree",
    "create_ray_hit_lists",
    "create_ray_hits",
    "manifold_size",
    "pair_is_supported",
    "replicate_pairs",
    "update_query_tree",
]
