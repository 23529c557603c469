"""The page of the asset interface is the one that the table makes."""

import asset_interface


def test_page_is_up_to_date() -> None:
    assert asset_interface.PAGE.read_text(encoding="utf-8") == asset_interface.page()


def test_signatures_say_what_is_given_by_name() -> None:
    parameters = [{"name": "a"}, {"name": "b", "default": "None", "keyword_only": True}]
    assert asset_interface._signature("f", parameters) == "f(a, *, b=None)"
