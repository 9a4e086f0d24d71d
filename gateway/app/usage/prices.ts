import { readFileSync } from 'node:fs'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { SettingsError } from '#common/env.ts'

const Amount = Type.Optional(Type.Number({ minimum: 0 }))

/** What an hour costs; absent: nothing. */
const Price = Type.Object(
  { server: Amount, vcpu: Amount, memory_gib: Amount, disk_gb: Amount },
  { additionalProperties: false },
)
type Price = Static<typeof Price>

const PriceFile = Type.Object(
  {
    currency: Type.String({ minLength: 1, maxLength: 16 }),
    default: Type.Optional(Price),
    cells: Type.Optional(Type.Record(Type.String(), Price)),
  },
  { additionalProperties: false },
)

/** The prices of an hour, by the names of cells; a cell without prices of its own has the default ones. */
export type Prices = Static<typeof PriceFile>

/** Throws `SettingsError`, which names the file and each wrong value. */
export function readPrices(file: string): Prices {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new SettingsError([`GATEWAY_PRICES_FILE: ${file} cannot be read: ${String(error)}`])
  }
  if (Value.Check(PriceFile, content)) return content
  const problems = Value.Errors(PriceFile, content)
    // The unknown property itself has an error, too, which says nothing.
    .filter(({ keyword }) => keyword !== 'boolean')
    .map(({ instancePath, message, keyword, params }) => {
      const where = instancePath === '' ? 'the file' : instancePath
      const what =
        keyword === 'additionalProperties'
          ? `must not have ${params.additionalProperties.join(', ')}`
          : message
      return `GATEWAY_PRICES_FILE: ${file}: ${where} ${what}`
    })
  throw new SettingsError(problems)
}

const GIB_MB = 1024

/** What an hour of a server costs in a cell; null: the server was in none. */
export function hourlyCost(
  { default: usual = {}, cells = {} }: Prices,
  cell: string | null,
  server: { readonly vcpus: number; readonly memoryMb: number; readonly diskGb: number },
): number {
  const own = cell !== null && Object.hasOwn(cells, cell) ? cells[cell]! : usual
  return (
    (own.server ?? 0) +
    (own.vcpu ?? 0) * server.vcpus +
    (own.memory_gib ?? 0) * (server.memoryMb / GIB_MB) +
    (own.disk_gb ?? 0) * server.diskGb
  )
}
