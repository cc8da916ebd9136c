#!/usr/bin/env bash
# The demonstration: submits four examples, judges them, and builds a leaderboard.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"
export PATH="$CLONE/.venv/bin:$PATH"
start=$SECONDS
rc=0; setup/all.sh || rc=$?
case $rc in
0) driver=docker ;;
"$NO_DOCKER") driver=process ;;
*) exit "$rc" ;;
esac

# Without Docker, each example runs in its own virtual environment, which is kept in the cache.
example_python() {
    local wheels venv
    wheels=$(setup/wheels.sh "submissions/examples/$1/requirements.txt")
    venv=$CACHE/process/$(basename "$wheels")
    if ! [ -f "$venv/.complete" ]; then
        quietly "$PY" -m venv "$venv" || {
            [ -d "$CACHE/virtualenv/virtualenv" ] || quietly "$PY" -m pip install --target "$CACHE/virtualenv" virtualenv
            PYTHONPATH="$CACHE/virtualenv" quietly "$PY" -m virtualenv "$venv"
        }
        quietly "$PY" -m pip --python "$venv/bin/python" install --no-index --find-links "$wheels" \
            -c setup/calculator.txt -r setup/calculator.txt -r "submissions/examples/$1/requirements.txt"
        touch "$venv/.complete"
    fi
    echo "$venv/bin/python"
}

for name in "${EXAMPLES[@]}"; do
    folder=submissions/examples/$name
    say "Submitting $name"
    if [ "$driver" = docker ]; then
        lambench-submit "lambench/$name" --card "$folder/lambench.toml"
    else
        python=$(example_python "$name")
        lambench-submit --driver process "$folder" --python "$python" --card "$folder/lambench.toml"
    fi
done
say "Judging"
if [ "$driver" = docker ]; then
    judge evaluate --all --suite quickstart
else
    judge evaluate --all --suite quickstart --driver process
fi
# GFN2-xTB is no learned potential: it is shown for comparison.
export LAMBENCH_REFERENCES='["GFN2-xTB"]'
judge site build
say "GFN2-xTB is a reference row, without a rank. To keep it one, set references = $LAMBENCH_REFERENCES in judge.toml"
say "Done in $((SECONDS - start)) s. The leaderboard is var/site/index.html; to open it: .venv/bin/judge site serve"
