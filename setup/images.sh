#!/usr/bin/env bash
# images.sh [NAME...]: builds lambench/calculator and lambench/NAME, if their inputs have changed. The name `judge` is the
# judge's own image.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"
names=("$@")
[ $# -gt 0 ] || names=("${EXAMPLES[@]}")
[ "${names[*]}" = judge ] || exec "$PY" -m judge.demo images "${names[@]}"

exec 6>"$CACHE/images.lock"
flock 6
work=$(mktemp -d "$CACHE/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
base=$("$PY" setup/engine.py id lambench/base:latest)
"$PY" - >"$work/requirements.txt" <<'END'
import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
print(*project["dependencies"], *extras["conductivity"], *extras["proteins"], *extras["learning"], "setuptools", sep="\n")
END
mkdir "$work/judge"
git ls-files -coz --exclude-standard | grep -zv '^tests/' | xargs -0 cp --parents -t "$work/judge" # as .dockerignore states
# The wheels fit the image only if both have the same Python; else pip downloads them during the build.
if [ "$("$PY" setup/engine.py python "$base")" = "$("$PY" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" ]; then
    wheels=$("$PY" -m judge.demo wheels "$work/requirements.txt")
    cp -rl "$wheels" "$work/judge/wheels" 2>/dev/null || cp -r "$wheels" "$work/judge/wheels"
fi
inputs=$( (cd "$work/judge" && find . -type f ! -path './wheels/*' -print0 | sort -z | xargs -0 sha256sum
    ls wheels 2>/dev/null; echo "$base") | hash_of)
[ "$("$PY" setup/engine.py label lambench/judge:latest org.lambench.inputs)" != "$inputs" ] || exit 0
say "Building lambench/judge"
"$PY" setup/engine.py build "$work/judge" lambench/judge:latest judge "$inputs" BASE_IMAGE="$base"
"$PY" setup/engine.py prune
