"""Record mass matrices and Jacobians of a robot by Pinocchio, for the integration tests.

    python3 tools/record_pinocchio.py panda.urdf panda_pinocchio.npz

Needs `pin`; the model is read from the URDF, so that nothing of this project takes part.
"""

from __future__ import annotations

import argparse
import xml.etree.ElementTree as ET

import numpy as np
import numpy.typing as npt
import pinocchio


def centre_of_mass(link: ET.Element) -> npt.NDArray[np.float64] | None:
    """Centre of mass of a link in its own frame [m]; None for links without mass."""
    inertial = link.find("inertial")
    mass = None if inertial is None else inertial.find("mass")
    if inertial is None or mass is None or float(mass.get("value", "0")) == 0.0:
        return None
    origin = inertial.find("origin")
    return np.array((origin.get("xyz", "0 0 0") if origin is not None else "0 0 0").split(), float)


def record(urdf: str, target: str, states: int, seed: int) -> None:
    """Write joint names, link names, positions, mass matrices and Jacobians at random positions inside the limits.

    Args:
        urdf: Model file; its base is fixed to the world.
        target: File to write.
        states: Number of random states.
        seed: Seed of the random positions.
    """
    model = pinocchio.buildModelFromUrdf(urdf)
    data = model.createData()
    links = [
        (link.get("name", ""), centre_of_mass(link)) for link in ET.parse(urdf).getroot().findall("link")
    ]
    links = [(name, centre) for name, centre in links if centre is not None]
    generator = np.random.default_rng(seed)
    positions = generator.uniform(model.lowerPositionLimit, model.upperPositionLimit, (states, model.nq))
    masses = np.zeros((states, model.nv, model.nv))
    jacobians = np.zeros((states, len(links), 6, model.nv))
    for state, q in enumerate(positions):
        upper = np.triu(pinocchio.crba(model, data, q))
        masses[state] = upper + np.triu(upper, 1).T
        pinocchio.computeJointJacobians(model, data, q)
        pinocchio.updateFramePlacements(model, data)
        for number, (name, centre) in enumerate(links):
            frame = model.getFrameId(name)
            jacobian = pinocchio.getFrameJacobian(
                model, data, frame, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
            )
            lever = data.oMf[frame].rotation @ centre
            # Of the link's origin, carried to its centre of mass.
            jacobians[state, number, :3] = jacobian[:3] + np.cross(jacobian[3:].T, lever).T
            jacobians[state, number, 3:] = jacobian[3:]
    np.savez_compressed(
        target,
        joints=np.array(list(model.names)[1:]),
        links=np.array([name for name, _ in links]),
        positions=positions,
        mass_matrices=masses,
        jacobians=jacobians,
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("urdf")
    parser.add_argument("target")
    parser.add_argument("--states", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    record(arguments.urdf, arguments.target, arguments.states, arguments.seed)


if __name__ == "__main__":
    main()
