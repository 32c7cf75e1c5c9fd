# syntax=docker/dockerfile:1
# The server and the command-line client in a small image.
#
#   docker build -t opserve .
#   docker run --rm -p 50051:50051 opserve
#
# As it is, whoever reaches the port may use it, in plain text: for a network that is trusted. Other
# arguments give it TLS, tokens and a policy; docs/operations.md has them.
#
# GPUs need their Vulkan driver in the container; the image has what NVIDIA's links. Its container toolkit provides it with
#   docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=graphics ...

FROM debian:bookworm AS builder
WORKDIR /src
# The packages are a layer of their own: they change less often than the sources.
COPY deploy/setup.sh deploy/setup.sh
RUN deploy/setup.sh build && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cmake --preset release -DOPSERVE_BUILD_TESTS=OFF \
  && ninja -C build/release bin/opserve-server bin/opserve \
  && strip build/release/bin/opserve-server build/release/bin/opserve build/release/lib/opserve/*.so

FROM debian:bookworm-slim
COPY deploy/setup.sh /tmp/opserve/deploy/setup.sh
RUN /tmp/opserve/deploy/setup.sh runtime gpu \
  && rm -rf /tmp/opserve /var/lib/apt/lists/* \
  && groupadd --system --force render \
  && useradd --system --user-group --groups render,video --no-create-home \
    --shell /usr/sbin/nologin opserve \
  && install -d -o opserve -g opserve /run/opserve
COPY --from=builder /src/build/release/bin/opserve-server /src/build/release/bin/opserve /usr/bin/
COPY --from=builder /src/build/release/lib/opserve/ /usr/lib/opserve/
USER opserve
EXPOSE 50051
# SIGTERM drains: the server answers what it accepted, then exits with 0.
STOPSIGNAL SIGTERM
# Asks at the address that the server says it listens at. With TLS set OPSERVE_TLS_CA and
# OPSERVE_TLS_SERVER_NAME for it, see docs/operations.md.
ENV OPSERVE_READY_FILE=/run/opserve/ready
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["opserve", "health"]
ENTRYPOINT ["opserve-server", "--ready-file", "/run/opserve/ready"]
CMD ["--listen", "0.0.0.0:50051", "--insecure", "--allow-anonymous"]
