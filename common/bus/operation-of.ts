/**
 * The operation that a subject ends with, such as `instance.build` or `spawn`: what follows the version of the wire.
 * `other` for a subject without one. So there are as many as programs know, whatever ids are in subjects.
 */
export function operationOf(subject: string): string {
  return /\.v\d+\.([a-z][a-z.-]{0,39})$/.exec(subject)?.[1] ?? 'other'
}
