import type { ShownOptions } from '#openapi/identity.gen.ts'

/** Options are shown while they are set. */
export function optionsView({ immutable }: { readonly immutable: boolean }): ShownOptions {
  return immutable ? { immutable } : {}
}
