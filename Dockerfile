# The judge's own image. The base for authors, lambench/calculator, is in submissions/examples/calculator.
#
#   docker build --target judge -t lambench/judge .
#
# If there is a folder wheels/ beside this file, pip takes everything from it; else it asks its index.
ARG BASE_IMAGE=python:3.11-slim

FROM ${BASE_IMAGE} AS judge-build
LABEL org.lambench.stage="build"
COPY . /src
RUN python3 -m venv /opt/venv \
 && if ls /src/wheels/*.whl >/dev/null 2>&1; then offline="--no-index --find-links /src/wheels"; fi \
 && /opt/venv/bin/pip install --no-cache-dir $offline "/src[conductivity,learning,proteins]"

# Run it with the engine's socket, and with the run directory at the same path as on the host, since the engine mounts
# parts of it into the submissions' containers:
#   docker run --rm -v /var/run/docker.sock:/var/run/docker.sock -v /run/lambench-judge:/run/lambench-judge \
#       -v "$PWD/var:/judge/var" -w /judge lambench/judge evaluate --all
#
# It is one layer of its own: with a layer in common, the judge's own programs would keep files of the submissions'
# images in memory, which must be empty of them at each start.
FROM ${BASE_IMAGE} AS judge-layers
LABEL org.lambench.stage="build"
COPY --from=judge-build /opt/venv /opt/venv

FROM scratch AS judge
COPY --from=judge-layers / /
ENV LANG=C.UTF-8 PATH=/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENTRYPOINT ["judge"]
