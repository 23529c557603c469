import importlib.metadata

import tensorphys_backend


def test_every_public_name_exists_and_is_listed_once() -> None:
    names = tensorphys_backend.__all__
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(tensorphys_backend, name)] == []


def test_installed_as_the_distribution_that_the_readme_names() -> None:
    assert importlib.metadata.metadata("tensorphys-backend")["Name"] == "tensorphys-backend"
