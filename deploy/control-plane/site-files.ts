import { createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { Site } from '#gateway/db/sites.ts'
import { STANDBY_ACCOUNT } from '../mariadb/standby-account.ts'
import type { OwnSite } from '../standby/own-site.ts'
import {
  type ControlPlane,
  endpointUrl,
  FILES,
  type Folders,
  ownAddress,
  PORTS,
} from './control-plane.ts'
import { authorityIn, readSecret } from './shared-files.ts'

/** Which site of a deployment a control plane is. */
export interface SiteFile {
  readonly name: string
  /** Differs from that of every other site. */
  readonly number: number
  /** Those that were known when the file was made. */
  readonly sites: readonly Site[]
}

/** Undefined for a control plane that is the only one. */
export function loadSite({ directory }: Folders): SiteFile | undefined {
  const file = join(directory, FILES.site)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as SiteFile) : undefined
}

export function existingSite(folders: Folders): SiteFile {
  const site = loadSite(folders)
  if (site === undefined)
    throw new Failure(
      'not-found',
      `${folders.directory} has no site of a deployment. Run: ./weir standby prepare --site NAME`,
    )
  return site
}

/** Follows from a secret that all sites have. Hexadecimal. */
export function standbyPassword({ directory }: Folders): string {
  const key = readSecret(directory, FILES.gatewayKey)
  return createHmac('sha256', key).update('weir standby account').digest('hex').slice(0, 48)
}

/** What other sites know of a control plane. */
export function siteRecord(name: string, plane: ControlPlane): Site {
  const servers = plane.machines.map(
    (each) => `${isIP(each) === 6 ? `[${each}]` : each}:${PORTS.sql}`,
  )
  return { name, url: endpointUrl(plane), databases: servers.join(',') }
}

/** The site of this machine, for the commands that follow and promote. */
export function ownSite(folders: Folders): OwnSite {
  const { name } = existingSite(folders)
  const password = standbyPassword(folders)
  const caFile = authorityIn(folders.directory)
  const urlAt = (server: string) =>
    `mysql://${STANDBY_ACCOUNT}:${password}@${server}/weir?ssl-ca=${caFile}`
  const own = ownAddress(folders)
  const address = `${isIP(own) === 6 ? `[${own}]` : own}:${PORTS.sql}`
  return { name, databaseUrl: urlAt(address), urlAt, ca: readFileSync(caFile, 'utf8') }
}
