import { Failure } from '#common/errors.ts'

interface Protected {
  readonly id: string
  readonly immutable: boolean
}

/** Throws `forbidden` for a change of something immutable, except one that ends its being so. */
export function refuseChange(what: string, { id, immutable }: Protected, becomes: boolean): void {
  if (immutable && becomes) throw refusal('update', what, id)
}

export function refuseDelete(what: string, { id, immutable }: Protected): void {
  if (immutable) throw refusal('delete', what, id)
}

function refusal(verb: string, what: string, id: string): Failure {
  return new Failure(
    'forbidden',
    `Unable to ${verb} immutable ${what} resource: ${id}. Set resource option "immutable" to false first.`,
  )
}
