import { type Static, Type } from 'typebox'
import { readSettingsFile } from '#common/settings-file.ts'
import type { ResourceKind } from '../../db/resource-runs.ts'

const Amount = Type.Optional(Type.Number({ minimum: 0 }))

/** What an hour costs; absent: nothing. */
const Price = Type.Object(
  {
    ...{ server: Amount, vcpu: Amount, memory_gib: Amount, disk_gb: Amount },
    ...{ volume_gb: Amount, image_gb: Amount, floating_ip: Amount },
  },
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
  return readSettingsFile('GATEWAY_PRICES_FILE', file, PriceFile)
}

const GIB_MB = 1024

const RESOURCE_PRICES = {
  volume: 'volume_gb',
  image: 'image_gb',
  'floating-ip': 'floating_ip',
} as const satisfies Record<ResourceKind, keyof Price>

/** What an hour of a GiB, or of a floating IP, costs in a cell; null: it is in none. */
export function resourceCost(prices: Prices, cell: string | null, kind: ResourceKind): number {
  return pricesIn(prices, cell)[RESOURCE_PRICES[kind]] ?? 0
}

function pricesIn({ default: usual = {}, cells = {} }: Prices, cell: string | null): Price {
  return cell !== null && Object.hasOwn(cells, cell) ? cells[cell]! : usual
}

/** What an hour of a server costs in a cell; null: the server was in none. */
export function hourlyCost(
  prices: Prices,
  cell: string | null,
  server: { readonly vcpus: number; readonly memoryMb: number; readonly diskGb: number },
): number {
  const own = pricesIn(prices, cell)
  return (
    (own.server ?? 0) +
    (own.vcpu ?? 0) * server.vcpus +
    (own.memory_gib ?? 0) * (server.memoryMb / GIB_MB) +
    (own.disk_gb ?? 0) * server.diskGb
  )
}
