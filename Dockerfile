# Where the digest was seen is in docs/decisions/0018-what-is-pinned-and-how.md; Dependabot moves it on.
FROM node:24-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && npm cache clean --force
COPY LICENSE ./
COPY gen ./gen
COPY src ./src
# The data directory must belong to the user before a volume is mounted on it, so that the volume belongs to them too.
RUN mkdir /data node_modules/.cache && chown node:node /data node_modules/.cache
USER node
# Compiles everything once, for the user who runs it, so that no start has to.
RUN NODE_COMPILE_CACHE=/app/node_modules/.cache/keyturn node --input-type=module --eval \
  "await Promise.all(['cli/main.ts', 'server/server.ts', 'telemetry/log/log.ts'].map((file) => import('/app/src/' + file)))" \
  > /dev/null || test $? = 2
ENV KEYTURN_DATA_DIR=/data KEYTURN_LISTEN=0.0.0.0:8080
VOLUME /data
EXPOSE 8080
# For the settings of this image. With TLS or another KEYTURN_LISTEN the container needs a healthcheck of its own.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The flag is explained in src/cli/keyturn.js.
ENTRYPOINT ["node", "--max-semi-space-size=8", "src/cli/keyturn.js"]
CMD ["serve"]
