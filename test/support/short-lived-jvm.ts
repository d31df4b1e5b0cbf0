/** Options of a Java machine that ends before code that it compiles thoroughly would pay: Maven takes half the time so. */
export const SHORT_LIVED_JVM = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
