"""The constant side of a contact pipeline: shapes, materials, candidate pairs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from .pair_search import BroadPhase
from .sampled_pairs import SampledPairs
from .shapes import PairFamily


@dataclasses.dataclass(frozen=True)
class Materials:
    """A table of surface materials; every field has one value a material.

    Attributes:
        static_friction: Coulomb coefficient at rest.
        dynamic_friction: Coulomb coefficient in sliding.
        restitution: Ratio of separation to approach speed.
        friction_combine: :class:`~tensorphys_contact.CombineMode` codes.
        restitution_combine: :class:`~tensorphys_contact.CombineMode` codes; stiffnesses follow them, too.
        damping_combine: :class:`~tensorphys_contact.CombineMode` codes.
        stiffness: Spring of a compliant contact [N/m], 0 for a rigid one.
        damping: Its damping [N s/m].
        spring_per_mass: 1 where both act per unit of the mass that the contact moves [1/s², 1/s].
        patch_radius: Radius R that makes the patch of a contact of depth d a disc of radius √(R d) [length].
        least_patch_radius: Least radius of that disc [length].
        torsional_friction: Torque against spin per normal force beside that of the patch [length].
    """

    static_friction: npt.ArrayLike
    dynamic_friction: npt.ArrayLike
    restitution: npt.ArrayLike
    friction_combine: npt.ArrayLike
    restitution_combine: npt.ArrayLike
    damping_combine: npt.ArrayLike = 0
    stiffness: npt.ArrayLike = 0.0
    damping: npt.ArrayLike = 0.0
    spring_per_mass: npt.ArrayLike = 0
    patch_radius: npt.ArrayLike = 0.0
    least_patch_radius: npt.ArrayLike = 0.0
    torsional_friction: npt.ArrayLike = 0.0


# A kernel of its own picks the near pairs of these families where there are more pairs than this.
_FILTERED = (PairFamily.BOX_BOX, PairFamily.CONVEX)
_UNFILTERED_PAIRS = 2**14


@dataclasses.dataclass
class Model:
    """Shapes and candidate pairs on a device. Built by :func:`build_model`.

    S shapes, P pairs, E environments, H hulls. Poses are ``[x y z, qx qy qz qw]``.

    Attributes:
        device: Warp device of all arrays.
        environment_count: E.
        body_count: Least length of the body poses that :func:`collide` accepts.
        shape_type: int32 [S], :class:`~tensorphys_contact.ShapeType`.
        shape_body: int32 [S], flat body, −1 static.
        shape_size: vec3 [S], see :class:`~tensorphys_contact.ShapeType` [length].
        shape_environment: int32 [S], −1 for shapes of all environments.
        shape_center: vec3 [S], centre of the bounding sphere, shape frame [length].
        shape_radius: float [S], its radius, 0 for planes [length].
        shape_half: vec3 [S], half extents of the box about the shape in its frame, centred
            on ``shape_center`` [length].
        shape_vertices: vec2i [S], first and end index into ``hull_vertex``; of hulls, and of closed convex meshes of few corners.
        shape_mesh: uint64 [S], Warp mesh of a triangle mesh, a height field or the surface of a signed
            distance field, scaled, else 0.
        shape_fold: int32 [S], first entry of that mesh in ``triangle_fold`` and ``triangle_neighbour``.
        triangle_fold: vec3, fold angles of all triangles, see
            :class:`~tensorphys_contact.TriangleMesh` [rad].
        triangle_neighbour: vec3i, triangles of the same mesh across each edge, −1 without.
        warp_meshes: The Warp meshes; they live as long as the model.
        shape_spheres: vec2i [S], first and end index into ``sphere``.
        sphere: vec4, centre and radius of the spheres of all sets, scaled [length].
        shape_faces: vec2i [S], first and end index into ``face_range``.
        hull_vertex: vec3, vertices of all hulls [length].
        face_range: vec2i, first and end index into ``face_vertex`` of each face of all hulls.
        face_normal: vec3, outward unit normal of each face.
        face_vertex: int32, corners of the faces, counted from the first vertex of their
            hull, counter-clockwise from outside.
        local_pose: transform [S + E × shared], shape in its body (or environment)
            frame; behind the S shapes one row for each environment and shared shape.
        row_shape, row_environment: int32, shape and environment of each of these rows (an
            environment of 0 where a row of a shared shape is not used itself).
        environment_row_start, environment_rows: int32 [E + 1] and [rows], the rows of each environment.
        static_friction, dynamic_friction, restitution: float [S], may be changed
            between steps.
        friction_combine, restitution_combine, damping_combine: int32 [S], likewise.
        stiffness, damping, patch_radius, least_patch_radius, torsional_friction: float [S], likewise.
        spring_per_mass: int32 [S], likewise.
        has_patches: Whether a shape had a patch or torsional friction when the model was built; later ones count only then.
        contact_offset, rest_offset: float [S], likewise [length].
        pair_start: int32 [E + 1], environment e owns pairs
            ``pair_start[e] .. pair_start[e + 1]``.
        pair_shape0, pair_shape1: int32 [P], the lower flat shape index is shape 0.
        pair_environment: int32 [P].
        pair_item: vec4i [P], frame shape, other shape, and their rows of
            ``local_pose``; the narrow phase works in the frame shape.
        pair_family: uint8 [P], :class:`~tensorphys_contact.shapes.PairFamily`; empty where pairs are searched.
        spare: Where threads that run one after another keep what they need no longer, see ``spare_places``.
        slot_start: int32 [P + 1], manifold slots of each pair.
        family_pairs: the pairs of each kernel, int32.
        unsupported_pairs: int32 NumPy array [K, 2], flat shape pairs that were asked
            for but have no narrow phase in this version; they never touch.
        no_margin: float [E], zeros.
        no_motion: spatial_vector [0].
        environment_capacity: int64 NumPy array [E], largest possible contact count.
        pair_key: int32 [P], upper half of the keys of contacts: the index of the pair in its
            environment, or a number of the two shapes where pairs are searched.
        search: The search for pairs of one large world, or None where ``pairs`` were given.
        sampled: Arrays of the pairs with signed distance fields or sets of spheres, or None where there are none.
        chunk_start: int32 [E + 1], chunks of each environment, or None where no
            environment has so many pairs that its compaction needs to be parallel.
        chunk_pair: int32 [chunks + 1], first pair of each chunk, or None.
    """

    device: Any
    environment_count: int
    body_count: int
    shape_type: wp.array[wp.int32]
    shape_body: wp.array[wp.int32]
    shape_size: wp.array[wp.vec3]
    shape_environment: wp.array[wp.int32]
    shape_center: wp.array[wp.vec3]
    shape_radius: wp.array[wp.float32]
    shape_half: wp.array[wp.vec3]
    shape_vertices: wp.array[wp.vec2i]
    shape_mesh: wp.array[wp.uint64]
    shape_fold: wp.array[wp.int32]
    triangle_fold: wp.array[wp.vec3]
    triangle_neighbour: wp.array[wp.vec3i]
    warp_meshes: tuple[wp.Mesh, ...]
    shape_faces: wp.array[wp.vec2i]
    hull_vertex: wp.array[wp.vec3]
    shape_spheres: wp.array[wp.vec2i]
    sphere: wp.array[wp.vec4]
    face_range: wp.array[wp.vec2i]
    face_normal: wp.array[wp.vec3]
    face_vertex: wp.array[wp.int32]
    local_pose: wp.array[wp.transform]
    row_shape: wp.array[wp.int32]
    row_environment: wp.array[wp.int32]
    environment_row_start: wp.array[wp.int32]
    environment_rows: wp.array[wp.int32]
    static_friction: wp.array[wp.float32]
    dynamic_friction: wp.array[wp.float32]
    restitution: wp.array[wp.float32]
    friction_combine: wp.array[wp.int32]
    restitution_combine: wp.array[wp.int32]
    damping_combine: wp.array[wp.int32]
    stiffness: wp.array[wp.float32]
    damping: wp.array[wp.float32]
    spring_per_mass: wp.array[wp.int32]
    patch_radius: wp.array[wp.float32]
    least_patch_radius: wp.array[wp.float32]
    torsional_friction: wp.array[wp.float32]
    has_patches: bool
    contact_offset: wp.array[wp.float32]
    rest_offset: wp.array[wp.float32]
    pair_start: wp.array[wp.int32]
    pair_shape0: wp.array[wp.int32]
    pair_shape1: wp.array[wp.int32]
    pair_environment: wp.array[wp.int32]
    pair_item: wp.array[wp.vec4i]
    pair_family: wp.array[wp.uint8]
    spare: tuple[int, int]
    slot_start: wp.array[wp.int32]
    family_pairs: dict[PairFamily, wp.array[wp.int32]]
    unsupported_pairs: npt.NDArray[np.int32]
    no_margin: wp.array[wp.float32]
    no_motion: wp.array[wp.spatial_vector]
    environment_capacity: npt.NDArray[np.int64]
    pair_key: wp.array[wp.int32]
    search: BroadPhase | None
    sampled: SampledPairs | None
    chunk_start: wp.array[wp.int32] | None
    chunk_pair: wp.array[wp.int32] | None

    @property
    def shape_count(self) -> int:
        """Number of shapes, shared ones counted once."""
        return len(self.shape_type)

    @property
    def filtered(self) -> tuple[PairFamily, ...]:
        """Families whose near pairs are picked beforehand on a GPU, where threads would wait for those of others."""
        if not wp.get_device(self.device).is_cuda or self.search is not None:
            return ()
        few = {family for family, pairs in self.family_pairs.items() if len(pairs) <= _UNFILTERED_PAIRS}
        return tuple(family for family in _FILTERED if family in self.family_pairs and family not in few)

    @property
    def pair_count(self) -> int:
        """Number of candidate pairs of all environments."""
        return len(self.pair_environment)
