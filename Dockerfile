# cera-run with its GPU backend, as a user without rights. Vulkan finds the driver of the host where the container runtime
# passes one in; without that Mesa's software adapter is there.
#
#   docker build -t cera-run .
#   docker run --rm -v "$PWD/models:/models:ro" cera-run check /models/model.gguf

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# .git comes along for the revision in "cera-run version"; without it the build goes on without one.
RUN CGO_ENABLED=1 go build -trimpath -buildvcs=auto -ldflags '-s -w -buildid=' -o /cera-run ./cmd/cera-run

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends libvulkan1 mesa-vulkan-drivers \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 65532 --create-home --home-dir /home/cera cera
COPY --from=build /cera-run /usr/local/bin/cera-run
USER 65532:65532
WORKDIR /home/cera
ENTRYPOINT ["cera-run"]
