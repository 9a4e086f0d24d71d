import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { keepSite, listSites } from '#gateway/db/sites.ts'
import { type Admission, openAdmission } from '../control-plane/admit.ts'
import {
  assertMachines,
  type ControlPlane,
  existingControlPlane,
  FILES,
  type Folders,
} from '../control-plane/control-plane.ts'
import { existingSite, type SiteFile, siteRecord } from '../control-plane/site-files.ts'

/** What a second site has of the first one's: everything that sealed values, the bus and users depend on. */
const SAME_AT_ALL_SITES = [
  'operator.nk',
  'system-account.nk',
  'gateway-account.nk',
  FILES.gatewayKey,
  'database.password',
  'admin.password',
  'demo.password',
] as const
const CONNECTIONS = 2

export interface NewSite {
  readonly name: string
  /** Of its machines, the first one first. */
  readonly machines: readonly string[]
  readonly endpoint?: string | undefined
  readonly lifetimeMs: number
}

/**
 * From now on the first machine of a new site can fetch what it needs, once, with the token. Throws `not-found` at a control
 * plane that is no site, and `conflict` for a name that another site has.
 */
export async function admitSite(
  folders: Folders,
  { name, machines, endpoint = machines[0] ?? '', lifetimeMs }: NewSite,
): Promise<Admission> {
  assertMachines(machines)
  const own = existingSite(folders)
  const { settings } = existingControlPlane(folders)
  const plane: ControlPlane = { machines, endpoint, settings, hasDatabases: true }
  const record = siteRecord(name, plane)
  await using db = new Database({
    url: readFileSync(join(folders.directory, FILES.databaseUrl), 'utf8').trim(),
    connectionsMax: CONNECTIONS,
  })
  const known = await listSites(db)
  const others = known.filter((each) => each.name !== name)
  if (name === own.name || others.some((each) => each.name !== own.name))
    throw new Failure(
      'conflict',
      `The deployment has the sites ${known.map((each) => each.name).join(' and ')}. A deployment has two, of different names.`,
    )
  await keepSite(db, record)
  const site: SiteFile = { name, number: own.number + 1, sites: [...others, record] }
  const read = (file: string) => readFileSync(join(folders.directory, file), 'utf8')
  const given = Object.fromEntries(SAME_AT_ALL_SITES.map((file) => [file, read(file)]))
  return openAdmission(
    folders,
    { address: machines[0]!, lifetimeMs },
    {
      place: 0,
      files: {
        ...given,
        [FILES.plane]: `${JSON.stringify(plane, null, 2)}\n`,
        [FILES.site]: `${JSON.stringify(site, null, 2)}\n`,
        [FILES.authority]: read(FILES.certificate),
        [FILES.authorityKey]: read(FILES.key),
      },
    },
  )
}
