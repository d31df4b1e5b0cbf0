import { testZitadelSdk } from './zitadel-sdk.ts'

await testZitadelSdk({
  name: 'io.github.zitadel:client of Maven Central',
  folder: 'zitadel-java',
  needs: { 'Java 17': 'javac -version | grep -qE " (1[7-9]|[2-9][0-9])"', Maven: 'mvn --version' },
  install:
    'mvn --quiet --batch-mode dependency:build-classpath -Dmdep.outputFile=classpath.txt >/dev/null 2>&1 || { echo "Maven does not find it" >&2; exit 1; }',
  build: 'mkdir classes && javac -cp "$(cat classpath.txt)" -d classes Client.java',
  run: 'java -cp "classes:$(cat classpath.txt)" Client',
  signIn: 'a wrong secret: invalid_client',
})
