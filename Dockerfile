# Keyturn as a container, for linux/amd64 and linux/arm64: what is compiled, and the packages that it needs. Where the digest was seen is
# in docs/decisions/0018-what-is-pinned-and-how.md; Dependabot moves it on.
FROM node:24-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS base
WORKDIR /app

# The compiler stays behind here.
FROM base AS build
COPY package.json package-lock.json .npmrc ./
COPY packages ./packages
COPY console ./console
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json LICENSE ./
COPY gen ./gen
COPY src ./src
COPY scripts/build-packages.ts ./scripts/build-packages.ts
RUN node node_modules/typescript/bin/tsc -p tsconfig.build.json && node node_modules/vite/bin/vite.js build console && \
    node scripts/build-packages.ts

FROM base AS packages
ENV NODE_ENV=production
COPY package.json package-lock.json .npmrc ./
COPY packages/client/package.json ./packages/client/package.json
COPY packages/verify/package.json ./packages/verify/package.json
COPY console/package.json ./console/package.json
# With install scripts: PostgreSQL's package makes links, and later the file system is read-only.
RUN npm ci --omit=dev && npm cache clean --force

FROM base
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Keyturn" \
      org.opencontainers.image.description="A self-hosted OAuth 2.0 token issuer for machines" \
      org.opencontainers.image.url="https://github.com/keyturn/keyturn" \
      org.opencontainers.image.source="https://github.com/keyturn/keyturn" \
      org.opencontainers.image.documentation="https://github.com/keyturn/keyturn#readme" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production
COPY --from=packages /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY gen ./gen
COPY --from=build /app/dist ./dist
# Where the links in node_modules lead.
COPY --from=build /app/packages/client/dist ./packages/client
COPY --from=build /app/packages/verify/dist ./packages/verify
COPY src/cli/keyturn.js ./src/cli/keyturn.js
# The data directory must belong to the user before a volume is mounted on it, so that the volume belongs to them too.
RUN ln -s /app/src/cli/keyturn.js /usr/local/bin/keyturn && mkdir /data node_modules/.cache && chown node:node /data node_modules/.cache
USER node
# Compiles everything once, for the user who runs it, so that no start has to: the file system may be read-only then.
RUN NODE_COMPILE_CACHE=/app/node_modules/.cache/keyturn node --input-type=module --eval \
  "await Promise.all(['cli/run', 'cli/server/serve-command', 'cli/server/health-command', 'server/server', 'telemetry/log/log'].map((name) => import('/app/dist/' + name + '.js')))"
ENV KEYTURN_DATA_DIR=/data KEYTURN_LISTEN=0.0.0.0:8080
VOLUME /data
EXPOSE 8080
# Asks where the settings say that the server listens, with TLS or without.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "src/cli/keyturn.js", "health"]
# The flag is explained in src/cli/keyturn.js.
ENTRYPOINT ["node", "--max-semi-space-size=8", "src/cli/keyturn.js"]
CMD ["serve"]
