"""The overview of policies says of each what it is."""

from tideproof.policies.policy_registry import policy, policy_names
from tideproof.report.policy_pages import overview, policy_pages, write_pages


def test_the_overview_has_every_policy_and_says_what_it_needs():
    rows = {row["name"]: row for row in overview()}
    assert list(rows) == list(policy_names())
    said = {name: (row["horizon"], row["shifts"]) for name, row in rows.items()}
    assert said["contrast"] == ("needed", "aware")
    assert said["linlucb"] == ("no", "aware")
    assert said["successive-rejects"] == ("needed", "blind")
    assert said["lucb"] == ("no", "blind")
    assert said["round-robin"] == ("no", "unaffected")  # it goes round whatever comes back
    for name, row in rows.items():
        assert (row["idea"], row["reference"]) == (policy(name).policy.idea, policy(name).policy.reference)


def test_pages_are_written_into_a_folder_old_or_new(tmp_path):
    folder = tmp_path / "docs" / "policies"
    for _ in range(2):
        write_pages(folder)
        assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == policy_pages()
