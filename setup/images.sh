#!/usr/bin/env bash
# images.sh [NAME...]: builds lambench/calculator and lambench/NAME, if their inputs have changed.
# shellcheck source=setup/common.sh
. "$(dirname "$0")/common.sh"

exec 6>"$CACHE/images.lock"
flock 6
names=("$@")
[ $# -gt 0 ] || names=("${EXAMPLES[@]}")

# build NAME FOLDER-OF-FILES TARGET WHEELS [ARG=VALUE...]: the image depends on FOLDER and WHEELS only.
build() {
    local name=$1 files=$2 target=$3 wheels=$4; shift 4
    local inputs; inputs=$( (cd "$files" && find . -type f ! -path '*/__pycache__/*' -print0 | sort -z | xargs -0 sha256sum
        ls "$wheels"; echo "$target $*") | hash_of)
    [ "$("$PY" setup/engine.py label "lambench/$name:latest" org.lambench.inputs)" = "$inputs" ] && return
    say "Building lambench/$name"
    cp -rl "$wheels" "$files/wheels" 2>/dev/null || cp -r "$wheels" "$files/wheels"
    "$PY" setup/engine.py build "$files" "lambench/$name:latest" "$target" "$inputs" "$@"
}

# The wheels fit the image only if both have the same Python; else pip downloads them during the build.
usable() {
    if [ "$image_python" = "$("$PY" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" ]; then
        setup/wheels.sh "$1"
    else
        mkdir -p "$CACHE/wheels/none" && echo "$CACHE/wheels/none"
    fi
}

work=$(mktemp -d "$CACHE/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
base=$("$PY" setup/engine.py id lambench/base:latest)
image_python=$(cat "$CACHE/python-${base#sha256:}" 2>/dev/null || true)
if [ "$image_python" = "" ]; then
    image_python=$("$PY" setup/engine.py python "$base")
    echo "$image_python" >"$CACHE/python-${base#sha256:}"
fi

if [ "${names[*]}" = judge ]; then
    "$PY" - >"$work/requirements.txt" <<'END'
import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
print(*project["dependencies"], *extras["conductivity"], *extras["proteins"], *extras["learning"], "setuptools", sep="\n")
END
    wheels=$(usable "$work/requirements.txt")
    mkdir "$work/judge"
    git ls-files -coz --exclude-standard | grep -zv '^tests/' | xargs -0 cp --parents -t "$work/judge" # as .dockerignore states
    build judge "$work/judge" judge "$wheels" BASE_IMAGE=lambench/base:latest
    exit
fi

mkdir -p "$work/calculator/setup"
cp Dockerfile "$work/calculator/" && cp setup/calculator.txt "$work/calculator/setup/"
build calculator "$work/calculator" calculator "$(usable setup/calculator.txt)" BASE_IMAGE="$base"
calculator=$("$PY" setup/engine.py id lambench/calculator:latest)
for name in "${names[@]}"; do
    cp -r "submissions/examples/$name" "$work/$name"
    rm -rf "$work/$name/__pycache__" "$work/$name/wheels"
    build "$name" "$work/$name" "" "$(usable "submissions/examples/$name/requirements.txt")" CALCULATOR="$calculator"
done
"$PY" setup/engine.py prune
