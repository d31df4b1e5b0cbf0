/**
 * Values of enums of the API, by the names that the command line and the documentation use.
 */

/** The names of an enum, without the value that is not specified. */
export interface EnumNames<Value extends number> {
  readonly names: readonly string[]
  /** @param name One of the names. */
  valueOf(name: string): Value
  /** A value that this version does not know is named by its number. */
  nameOf(value: Value): string
}

/** @param values The enum as it is generated. */
export function enumNames<Value extends number>(values: Readonly<Record<string, string | Value>>): EnumNames<Value> {
  const named = Object.entries(values).filter((entry): entry is [string, Value] => Number(entry[1]) > 0)
  return {
    names: named.map(([name]) => name),
    valueOf: (name) => values[name] as Value,
    nameOf: (value) => named.find(([, each]) => each === value)?.[0] ?? `unknown (${value})`,
  }
}
