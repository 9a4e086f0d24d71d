import { Failure } from '#common/errors.ts'
import { isResourceClass } from '#common/resource-classes.ts'

/** Throws `not-found` for a class that no host can have. */
export function resourceClass(name: string): string {
  if (isResourceClass(name)) return name
  throw new Failure('not-found', `No such resource class ${name}.`)
}

/** Amounts by class. */
export type Amounts = Readonly<Record<string, number>>

export type RequestedAmounts = ReadonlyMap<string, number>

const AMOUNT = /^([A-Z0-9_]+):(\d{1,15})$/

/** `VCPU:2,MEMORY_MB:512`. Throws `invalid` for malformed text, for none, and for an unknown class. */
export function requestedAmounts(text: string): RequestedAmounts {
  const pairs = text.split(',').map((part) => {
    const [, name = '', amount = ''] = AMOUNT.exec(part) ?? []
    if (Number(amount) < 1)
      throw new Failure(
        'invalid',
        `Badly formed resources parameter. Expected resources=CLASS:AMOUNT,… Got: ${text}.`,
      )
    if (!isResourceClass(name))
      throw new Failure('invalid', `Invalid resource class in resources parameter: ${name}.`)
    return [name, Number(amount)] as const
  })
  return new Map(pairs)
}
