"""Tables of a template: bodies, shapes, materials, joints, axes and articulations.

Lengths and masses are in stage units, angles in radians. Poses are ``[x y z qx qy qz qw]``. Index columns
refer to rows of the named table in the same template; −1 means "none" (for a body: the world).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tensorphys_scene.columns import Table, column
from tensorphys_scene.kinds import CombineMode, DriveType, SphereFillMode

_IDENTITY = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
_INF = float("inf")


@dataclass(frozen=True, kw_only=True)
class Bodies(Table):
    """Rigid bodies, links of articulations included.

    Attributes:
        pose: Body frame in the environment frame [m, -], shape [count, 7].
        linear_velocity: Velocity of the centre of mass, environment axes [m/s].
        angular_velocity: Angular velocity, environment axes [rad/s].
        mass: Mass [kg].
        com: Centre of mass in the body frame [m].
        inertia: Rotational inertia about the centre of mass, body axes [kg m²], shape [count, 3, 3].
        principal_rotation: Principal axes of the inertia in the body frame, quaternion xyzw.
        kinematic: Whether the body follows targets instead of forces.
        enabled: Whether the body is simulated; a disabled body is a static collider.
        starts_asleep: Whether the body begins asleep.
        disable_gravity: Whether gravity is not applied.
        linear_damping, angular_damping: Damping rates [1/s].
        max_linear_velocity, max_angular_velocity: Bounds of speed [m/s, rad/s].
        max_depenetration_velocity: Bound of the speed that removes penetration [m/s].
        max_contact_impulse: Bound of the normal impulse of one contact [N s].
        sleep_threshold, stabilization_threshold: Mass-normalised kinetic energies [m²/s²].
        position_iterations, velocity_iterations: Authored solver counts, −1 where not authored.
        gyroscopic: Whether the gyroscopic torque acts.
        retain_forces: Whether external forces stay until they are changed.
        ccd: Whether continuous collision detection is asked for.
        speculative_ccd: Whether contacts are to be looked for along the motion of one step.
        locked_axes: Bit mask of locked world axes, bits 0–2 translation x y z, bits 3–5 rotation.
        cfm_scale: Scale of constraint force mixing in the body's contacts [-]; NaN for the default.
        contact_slop_coefficient: Slop of contacts per angular speed [m s].
        solve_contact: Whether contacts act; otherwise they are only reported.
        surface_velocity, surface_angular_velocity: Velocity of the body's surface relative to the body, as of a
            conveyor belt [m/s, rad/s]; 0 where there is none.
        surface_velocity_local: Whether these two are in body axes; otherwise in environment axes.
    """

    pose: npt.NDArray[np.float64] = column(float, (7,), default=_IDENTITY, finite=True)
    linear_velocity: npt.NDArray[np.float64] = column(float, (3,), default=0.0, finite=True)
    angular_velocity: npt.NDArray[np.float64] = column(float, (3,), default=0.0, finite=True)
    mass: npt.NDArray[np.float64] = column(float, finite=True)
    com: npt.NDArray[np.float64] = column(float, (3,), default=0.0, finite=True)
    inertia: npt.NDArray[np.float64] = column(float, (3, 3), finite=True)
    principal_rotation: npt.NDArray[np.float64] = column(
        float, (4,), default=(0.0, 0.0, 0.0, 1.0), finite=True
    )
    kinematic: npt.NDArray[np.bool_] = column(bool, default=False)
    enabled: npt.NDArray[np.bool_] = column(bool, default=True)
    starts_asleep: npt.NDArray[np.bool_] = column(bool, default=False)
    disable_gravity: npt.NDArray[np.bool_] = column(bool, default=False)
    linear_damping: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    angular_damping: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    max_linear_velocity: npt.NDArray[np.float64] = column(float, default=_INF)
    max_angular_velocity: npt.NDArray[np.float64] = column(float, default=_INF)
    max_depenetration_velocity: npt.NDArray[np.float64] = column(float, default=_INF)
    max_contact_impulse: npt.NDArray[np.float64] = column(float, default=_INF)
    sleep_threshold: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    stabilization_threshold: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    position_iterations: npt.NDArray[np.int32] = column(np.int32, default=-1)
    velocity_iterations: npt.NDArray[np.int32] = column(np.int32, default=-1)
    gyroscopic: npt.NDArray[np.bool_] = column(bool, default=True)
    retain_forces: npt.NDArray[np.bool_] = column(bool, default=False)
    ccd: npt.NDArray[np.bool_] = column(bool, default=False)
    speculative_ccd: npt.NDArray[np.bool_] = column(bool, default=False)
    locked_axes: npt.NDArray[np.int32] = column(np.int32, default=0)
    cfm_scale: npt.NDArray[np.float64] = column(float, default=float("nan"))
    contact_slop_coefficient: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    solve_contact: npt.NDArray[np.bool_] = column(bool, default=True)
    surface_velocity: npt.NDArray[np.float64] = column(float, (3,), default=0.0, finite=True)
    surface_angular_velocity: npt.NDArray[np.float64] = column(float, (3,), default=0.0, finite=True)
    surface_velocity_local: npt.NDArray[np.bool_] = column(bool, default=True)


@dataclass(frozen=True, kw_only=True)
class Shapes(Table):
    """Collision shapes; a prim of many spheres has a row for each, all with its path.

    Attributes:
        body: Row in bodies, −1 for a static shape.
        type: :class:`ShapeType`.
        pose: Shape frame in the body frame, or in the environment frame where static.
        size: Meaning by type, see :class:`ShapeType` [m].
        mesh: Index into the scene's meshes, −1 where the type needs none.
        material: Row in materials, −1 for the default material.
        contact_offset: Distance below which contacts are made [m]; NaN where it is to be derived.
        rest_offset: Distance at which shapes rest [m].
        enabled: Whether the shape collides.
        collision_group: Row of the first collision group, −1 where none.
        torsional_patch_radius, min_torsional_patch_radius: Radii of torsional friction [m].
        resists_spin: Whether the torsional friction of its material acts on it.
        hull_vertex_limit: Bound of the vertices of a convex hull.
        hull_min_thickness: Least thickness of a hull [m].
        decomposition_error: Volume error of a decomposition [%].
        decomposition_hull_vertex_limit, decomposition_max_hulls, decomposition_min_thickness,
            decomposition_shrink_wrap, decomposition_voxels: Bound of the vertices of each hull, of the hulls, least
            thickness [m], whether hulls are wrapped onto the surface, and number of voxels of a decomposition.
        sphere_fill_mode: :class:`SphereFillMode`.
        sphere_fill_count, sphere_fill_seeds, sphere_fill_voxels: Bound of the spheres that fill a mesh, numbers of
            seeds and voxels of that search.
        weld_tolerance: Distance below which vertices of a triangle mesh are one [m]; NaN where it is to be derived.
        simplification_metric: Share of detail that a simplified mesh keeps [-].
        sdf_resolution: Cells of a signed distance field along the longest side.
        sdf_subgrid_resolution: Cells of its blocks; 0 for a dense field.
        sdf_bits_per_pixel: Bits of a stored value: 8, 16 or 32.
        sdf_margin, sdf_narrow_band: Fractions of the bounding box's diagonal.
        sdf_remeshing: Whether the mesh is made anew before.
        sdf_triangle_reduction: Factor of the number of its triangles [-].
    """

    body: npt.NDArray[np.int32] = column(np.int32)
    type: npt.NDArray[np.int32] = column(np.int32)
    pose: npt.NDArray[np.float64] = column(float, (7,), default=_IDENTITY, finite=True)
    size: npt.NDArray[np.float64] = column(float, (3,), default=0.0, finite=True)
    mesh: npt.NDArray[np.int32] = column(np.int32, default=-1)
    material: npt.NDArray[np.int32] = column(np.int32, default=-1)
    contact_offset: npt.NDArray[np.float64] = column(float, default=float("nan"))
    rest_offset: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    enabled: npt.NDArray[np.bool_] = column(bool, default=True)
    collision_group: npt.NDArray[np.int32] = column(np.int32, default=-1)
    torsional_patch_radius: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    min_torsional_patch_radius: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    resists_spin: npt.NDArray[np.bool_] = column(bool, default=True)
    hull_vertex_limit: npt.NDArray[np.int32] = column(np.int32, default=64)
    hull_min_thickness: npt.NDArray[np.float64] = column(float, default=0.001, finite=True)
    decomposition_error: npt.NDArray[np.float64] = column(float, default=10.0, finite=True)
    decomposition_hull_vertex_limit: npt.NDArray[np.int32] = column(np.int32, default=64)
    decomposition_max_hulls: npt.NDArray[np.int32] = column(np.int32, default=32)
    decomposition_min_thickness: npt.NDArray[np.float64] = column(float, default=0.001, finite=True)
    decomposition_shrink_wrap: npt.NDArray[np.bool_] = column(bool, default=False)
    decomposition_voxels: npt.NDArray[np.int32] = column(np.int32, default=500_000)
    sphere_fill_mode: npt.NDArray[np.int32] = column(np.int32, default=int(SphereFillMode.FLOOD))
    sphere_fill_count: npt.NDArray[np.int32] = column(np.int32, default=128)
    sphere_fill_seeds: npt.NDArray[np.int32] = column(np.int32, default=1000)
    sphere_fill_voxels: npt.NDArray[np.int32] = column(np.int32, default=50_000)
    weld_tolerance: npt.NDArray[np.float64] = column(float, default=float("nan"))
    simplification_metric: npt.NDArray[np.float64] = column(float, default=0.55, finite=True)
    sdf_resolution: npt.NDArray[np.int32] = column(np.int32, default=256)
    sdf_subgrid_resolution: npt.NDArray[np.int32] = column(np.int32, default=6)
    sdf_bits_per_pixel: npt.NDArray[np.int32] = column(np.int32, default=16)
    sdf_margin: npt.NDArray[np.float64] = column(float, default=0.01, finite=True)
    sdf_narrow_band: npt.NDArray[np.float64] = column(float, default=0.01, finite=True)
    sdf_remeshing: npt.NDArray[np.bool_] = column(bool, default=False)
    sdf_triangle_reduction: npt.NDArray[np.float64] = column(float, default=1.0, finite=True)


@dataclass(frozen=True, kw_only=True)
class Materials(Table):
    """Physics materials.

    Attributes:
        static_friction, dynamic_friction, restitution: Coefficients.
        density: Density [kg/m³], 0 where not authored.
        friction_combine, restitution_combine, damping_combine: :class:`CombineMode`.
        compliant_stiffness, compliant_damping: Contact spring [N/m, N s/m]; 0 stiffness is a rigid contact.
        compliant_acceleration: Whether that spring acts per unit mass.
        torsional_friction, rolling_friction: Torque against spin and against rolling per normal force [m].
    """

    static_friction: npt.NDArray[np.float64] = column(float, default=0.5, finite=True)
    dynamic_friction: npt.NDArray[np.float64] = column(float, default=0.5, finite=True)
    restitution: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    density: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    friction_combine: npt.NDArray[np.int32] = column(np.int32, default=int(CombineMode.AVERAGE))
    restitution_combine: npt.NDArray[np.int32] = column(np.int32, default=int(CombineMode.AVERAGE))
    damping_combine: npt.NDArray[np.int32] = column(np.int32, default=int(CombineMode.AVERAGE))
    compliant_stiffness: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    compliant_damping: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    compliant_acceleration: npt.NDArray[np.bool_] = column(bool, default=False)
    torsional_friction: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    rolling_friction: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)


@dataclass(frozen=True, kw_only=True)
class FaceMaterials(Table):
    """Materials of some faces of triangle meshes, in place of their shapes' one; ``path`` is the subset of faces.

    Attributes:
        shape: Row in shapes.
        material: Row in materials.
        group: The triangles: those of the shape's mesh whose entry in ``Mesh.groups`` is this number.
    """

    shape: npt.NDArray[np.int32] = column(np.int32)
    material: npt.NDArray[np.int32] = column(np.int32)
    group: npt.NDArray[np.int32] = column(np.int32)


@dataclass(frozen=True, kw_only=True)
class BodyForces(Table):
    """Constant loads on bodies; ``path`` is the prim that says so.

    Attributes:
        body: Row in bodies.
        position: Point that the force acts at, in the body frame [m].
        rotation: Axes of a force that turns with the body, quaternion xyzw in the body frame.
        force, torque: Load in those axes, or in environment axes where ``world`` [N, N m, or m/s², rad/s²].
        acceleration: Whether force and torque are accelerations.
        world: Whether they keep their direction when the body turns.
        enabled: Whether the load acts.
    """

    body: npt.NDArray[np.int32] = column(np.int32)
    position: npt.NDArray[np.float64] = column(float, (3,), default=0.0, finite=True)
    rotation: npt.NDArray[np.float64] = column(float, (4,), default=(0.0, 0.0, 0.0, 1.0), finite=True)
    force: npt.NDArray[np.float64] = column(float, (3,), default=0.0, finite=True)
    torque: npt.NDArray[np.float64] = column(float, (3,), default=0.0, finite=True)
    acceleration: npt.NDArray[np.bool_] = column(bool, default=False)
    world: npt.NDArray[np.bool_] = column(bool, default=False)
    enabled: npt.NDArray[np.bool_] = column(bool, default=True)


@dataclass(frozen=True, kw_only=True)
class Joints(Table):
    """Joints as authored; q of a joint is the displacement of body 1 relative to body 0.

    Attributes:
        type: :class:`JointType`.
        body0, body1: Rows in bodies, −1 for the world.
        frame0, frame1: Joint frame in body 0 and in body 1 (environment frame for the world).
        enabled: Whether the joint acts.
        collision_enabled: Whether the two bodies collide with each other.
        excluded: Whether the joint stays out of the articulation tree.
        break_force, break_torque: Loads at which the joint breaks [N, N m].
        min_distance, max_distance: Bounds of the distance of the two frames [m]; NaN where off.
        distance_stiffness, distance_damping: Spring outside of these bounds [N/m, N s/m]; 0 stiffness is hard.
        friction_coefficient: Legacy unitless friction coefficient.
    """

    type: npt.NDArray[np.int32] = column(np.int32)
    body0: npt.NDArray[np.int32] = column(np.int32, default=-1)
    body1: npt.NDArray[np.int32] = column(np.int32, default=-1)
    frame0: npt.NDArray[np.float64] = column(float, (7,), default=_IDENTITY, finite=True)
    frame1: npt.NDArray[np.float64] = column(float, (7,), default=_IDENTITY, finite=True)
    enabled: npt.NDArray[np.bool_] = column(bool, default=True)
    collision_enabled: npt.NDArray[np.bool_] = column(bool, default=False)
    excluded: npt.NDArray[np.bool_] = column(bool, default=False)
    break_force: npt.NDArray[np.float64] = column(float, default=_INF)
    break_torque: npt.NDArray[np.float64] = column(float, default=_INF)
    min_distance: npt.NDArray[np.float64] = column(float, default=float("nan"))
    max_distance: npt.NDArray[np.float64] = column(float, default=float("nan"))
    distance_stiffness: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    distance_damping: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    friction_coefficient: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)


@dataclass(frozen=True, kw_only=True)
class Axes(Table):
    """Free or limited axes of joints, one row a degree of freedom; ``path`` is the joint's path.

    Rows of one joint stand together and in the order in which the motions compose from body 0 to body 1.
    Units: rad, rad/s, N m for rotations; m, m/s, N for translations.

    Attributes:
        joint: Row in joints.
        axis: :class:`AxisType` in the joint frame.
        lower, upper: Limits; ±inf where free.
        limit_stiffness, limit_damping: Spring outside of the limits; 0 stiffness is a hard limit.
        limit_restitution, limit_bounce_threshold: Bounce of a hard limit and the speed from which it bounces.
        position, velocity: Initial state.
        drive_type: :class:`DriveType`; NONE where no drive is authored.
        stiffness, damping: Gains of the drive.
        target_position, target_velocity: Targets of the drive.
        max_force: Bound of the drive's force.
        armature: Inertia added to the axis.
        max_velocity: Bound of the speed.
        static_friction, dynamic_friction: Friction efforts.
        viscous_friction: Viscous friction coefficient.
        passive_damping, passive_stiffness, spring_reference: Passive spring-damper of the joint.
        effort_limit: Bound of the actuation force as authored by the source format, inf where none.
        source_offset: Position that the source format gives to displacement 0; its own coordinate is the position
            plus this.
        envelope: [speed-effort gradient, max actuator velocity, velocity-dependent resistance].
        has_envelope: Whether a performance envelope is authored.
        names: Names of the degrees of freedom, made unique.
    """

    joint: npt.NDArray[np.int32] = column(np.int32)
    axis: npt.NDArray[np.int32] = column(np.int32)
    lower: npt.NDArray[np.float64] = column(float, default=-_INF)
    upper: npt.NDArray[np.float64] = column(float, default=_INF)
    limit_stiffness: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    limit_damping: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    limit_restitution: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    limit_bounce_threshold: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    position: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    velocity: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    drive_type: npt.NDArray[np.int32] = column(np.int32, default=int(DriveType.NONE))
    stiffness: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    damping: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    target_position: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    target_velocity: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    max_force: npt.NDArray[np.float64] = column(float, default=_INF)
    armature: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    max_velocity: npt.NDArray[np.float64] = column(float, default=_INF)
    static_friction: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    dynamic_friction: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    viscous_friction: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    passive_damping: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    passive_stiffness: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    spring_reference: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    effort_limit: npt.NDArray[np.float64] = column(float, default=_INF)
    source_offset: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    envelope: npt.NDArray[np.float64] = column(float, (3,), default=(0.0, _INF, 0.0))
    has_envelope: npt.NDArray[np.bool_] = column(bool, default=False)
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Links(Table):
    """Links of all articulations in tree order (parents first, breadth-first); ``path`` is the body's path.

    Attributes:
        articulation: Row in articulations; links of one articulation stand together.
        body: Row in bodies.
        parent: Row in links, −1 for a root link.
        joint: Row in joints of the joint to the parent (the first one where several add mobility),
            −1 for the root of a floating base, the joint to the world for the root of a fixed base (−1 where
            the base is fixed without one). A root whose joints to the world move has their degrees of freedom.
        joint_count: Number of joints between parent and link whose motions add, at rows joint, joint + 1, ...;
            without meaning where joint is −1.
        flipped: Whether body 1 of that joint is the parent.
    """

    articulation: npt.NDArray[np.int32] = column(np.int32)
    body: npt.NDArray[np.int32] = column(np.int32)
    parent: npt.NDArray[np.int32] = column(np.int32)
    joint: npt.NDArray[np.int32] = column(np.int32, default=-1)
    joint_count: npt.NDArray[np.int32] = column(np.int32, default=1)
    flipped: npt.NDArray[np.bool_] = column(bool, default=False)


@dataclass(frozen=True, kw_only=True)
class Articulations(Table):
    """Articulations; ``path`` is the prim that carries the root schema.

    Attributes:
        fixed_base: Whether the root link is tied to the world.
        self_collisions: Whether links that are not joined directly collide with each other.
        position_iterations, velocity_iterations: Authored solver counts, −1 where not authored.
        sleep_threshold, stabilization_threshold: Mass-normalised kinetic energies [m²/s²].
    """

    fixed_base: npt.NDArray[np.bool_] = column(bool)
    self_collisions: npt.NDArray[np.bool_] = column(bool, default=True)
    position_iterations: npt.NDArray[np.int32] = column(np.int32, default=-1)
    velocity_iterations: npt.NDArray[np.int32] = column(np.int32, default=-1)
    sleep_threshold: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    stabilization_threshold: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
