import { testGeneratedClient } from './generated-client.ts'

await testGeneratedClient({
  language: 'Java',
  folder: 'java',
  needs: { 'Java 17': 'javac -version | grep -qE " (1[7-9]|[2-9][0-9])"', Maven: 'mvn --version' },
  install: 'mvn --quiet --batch-mode dependency:build-classpath -Dmdep.outputFile=classpath.txt',
  run: 'java -XX:TieredStopAtLevel=1 -cp "target/classes:$(cat classpath.txt)" Client',
})
