import type { ResourceOptions } from '#openapi/identity.gen.ts'

/** What options say of being immutable: nothing, yes, or (null, too) no. */
export function immutableOf(options: ResourceOptions | undefined): { immutable?: boolean } {
  return options?.immutable === undefined ? {} : { immutable: options.immutable === true }
}
