/**
 * The paths of the fields of `data` that `check` never looked at. Validators compiled from Kubernetes' own schemas pass over
 * fields that they do not know, so a misspelt one would go unnoticed.
 */
export function unknownFields(data: object, check: (data: object) => unknown): readonly string[] {
  const seen = new Set<string>()
  check(watched(data, '', seen))
  return pathsIn(data, '').filter((path) => !seen.has(path))
}

function watched<T extends object>(data: T, path: string, seen: Set<string>): T {
  return new Proxy(data, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      if (typeof key === 'symbol') return value
      const inner = `${path}/${key}`
      seen.add(inner)
      return isObject(value) ? watched(value, inner, seen) : value
    },
  })
}

function pathsIn(data: object, path: string): readonly string[] {
  return Object.entries(data).flatMap(([key, value]: [string, unknown]) => {
    const inner = `${path}/${key}`
    return isObject(value) ? [inner, ...pathsIn(value, inner)] : [inner]
  })
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
