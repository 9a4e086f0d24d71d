/** One kind of request that an application credential may make. */
export interface AccessRule {
  readonly id: string
  /** A type in the catalog, such as `compute`. */
  readonly service: string
  readonly method: string
  /** `*` and `{name}` stand for one part of a path, `**` for any number of them. */
  readonly path: string
}

export interface RequestKind {
  readonly service: string
  readonly method: string
  /** As in the documents: without the prefix of the service. */
  readonly path: string
}

/** The rules of these ids in the order of the ids; those that are gone are left out. */
export function rulesOf(
  ids: readonly string[],
  rules: readonly AccessRule[],
): readonly AccessRule[] {
  return ids.flatMap((id) => rules.find((rule) => rule.id === id) ?? [])
}

/** True if one of the rules permits such a request. */
export function allowsRequest(rules: readonly AccessRule[], request: RequestKind): boolean {
  return rules.some(
    ({ service, method, path }) =>
      service === request.service &&
      method === request.method &&
      matches(path.split('/'), request.path.split('/')),
  )
}

/** Goes back only to the last `**`, as globs allow, so that the time is at most the product of both lengths. */
function matches(pattern: readonly string[], path: readonly string[]): boolean {
  let at = 0
  let inPattern = 0
  let lastMany = -1
  let resumeAt = 0
  while (at < path.length) {
    const part = pattern[inPattern]
    if (part === '**') {
      lastMany = inPattern
      resumeAt = at
      inPattern += 1
    } else if (part !== undefined && matchesPart(part, path[at] ?? '')) {
      at += 1
      inPattern += 1
    } else if (lastMany >= 0) {
      resumeAt += 1
      at = resumeAt
      inPattern = lastMany + 1
    } else return false
  }
  return pattern.slice(inPattern).every((part) => part === '**')
}

function matchesPart(pattern: string, part: string): boolean {
  const isAny = pattern === '*' || (pattern.startsWith('{') && pattern.endsWith('}'))
  return isAny ? part !== '' : pattern === part
}
