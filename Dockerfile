# tideproof serve, as a user without rights and with one volume, /data: see docs/serve.md, "In a container".
# It installs the wheel in dist/, which `make image` and `make release` build.
FROM python:3.12-slim AS build
COPY dist/*.whl constraints.txt /wheel/
RUN python -m venv /app && /app/bin/pip install --no-cache-dir -c /wheel/constraints.txt \
    "$(ls /wheel/*.whl)[serve,postgres]"

FROM python:3.12-slim
RUN useradd --system --uid 10001 --create-home --home-dir /data tideproof
COPY --from=build /app /app
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
ENV PATH=/app/bin:$PATH PYTHONUNBUFFERED=1 \
    TIDEPROOF_STORE=sqlite:////data/tideproof.db TIDEPROOF_HOST=0.0.0.0 TIDEPROOF_PORT=8080
HEALTHCHECK --start-period=15s --interval=15s --timeout=5s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["tideproof", "serve"]
