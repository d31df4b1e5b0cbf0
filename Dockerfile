FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && npm cache clean --force
COPY LICENSE ./
COPY gen ./gen
COPY src ./src
# The data directory must belong to the user before a volume is mounted on it, so that the volume belongs to them too.
RUN mkdir /data && chown node:node /data
USER node
ENV KEYTURN_DATA_DIR=/data KEYTURN_LISTEN=0.0.0.0:8080
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "src/cli/main.ts"]
CMD ["serve"]
