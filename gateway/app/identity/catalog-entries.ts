import {
  registeredEndpoints,
  registeredRegions,
  registeredServices,
} from '../../db/identity/registered-catalog.ts'
import { type CatalogEntries, catalogAt } from './catalog.ts'
import type { Identity } from './identity.ts'
import { type Listed, listed } from './listed.ts'
import { noSuch } from './model.ts'

/** Everything in the catalog: what this deployment serves at `root` first, then what was registered. */
export async function catalogEntries(
  { db, region }: Pick<Identity, 'db' | 'region'>,
  root: string,
): Promise<CatalogEntries> {
  const own = catalogAt(root, region)
  const [regions, services, endpoints] = await Promise.all([
    registeredRegions(db),
    registeredServices(db),
    registeredEndpoints(db),
  ])
  return {
    regions: [...own.regions, ...regions.filter(({ id }) => id !== region)],
    services: [...own.services, ...services],
    endpoints: [...own.endpoints, ...endpoints],
  }
}

export interface EntryQuery {
  readonly limit?: number | undefined
  readonly marker?: string | undefined
}

/** The entries for which everything given fits, from the marker on. */
export function selected<T extends { readonly id: string }>(
  entries: readonly T[],
  wanted: Readonly<Partial<Record<keyof T, unknown>>>,
  { limit, marker }: EntryQuery,
): Listed<T> {
  const start = marker === undefined ? 0 : entries.findIndex(({ id }) => id === marker) + 1
  const fitting = entries
    .slice(start)
    .filter((entry) =>
      Object.entries(wanted).every(
        ([key, value]) => value === undefined || entry[key as keyof T] === value,
      ),
    )
  return listed(limit === undefined ? fitting : fitting.slice(0, limit + 1), limit)
}

/** The entry of that id. */
export function oneEntry<T extends { readonly id: string }>(
  entries: readonly T[],
  what: string,
  id: string,
): T {
  const entry = entries.find((it) => it.id === id)
  if (entry === undefined) throw noSuch(what, id)
  return entry
}
