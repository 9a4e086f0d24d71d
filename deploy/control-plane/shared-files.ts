import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { CertificateFiles } from '#common/tls/certificate.ts'
import { makeSelfSigned } from '../machine/self-signed.ts'
import { natsKeys } from '../nats/nats-keys.ts'
import { type ControlPlane, endpointUrl, FILES, type Folders, PORTS } from './control-plane.ts'
import type { OwnFiles } from './own-files.ts'

/** As `natsKeys` names them. */
const BUS_KEYS = ['operator.nk', 'system-account.nk', 'gateway-account.nk'] as const

/** What every machine of a control plane has, the same on each: the secrets, and what follows from them. */
export const SHARED_FILES = [
  FILES.plane,
  FILES.certificate,
  FILES.key,
  ...BUS_KEYS,
  FILES.gatewayKey,
  'mariadb.password',
  'database.password',
  'admin.password',
  'demo.password',
] as const

/** What the machines have in common besides, where there is such a thing: databases elsewhere, and several sites. */
export const SOMETIMES_SHARED = [
  FILES.databaseUrl,
  FILES.site,
  FILES.authority,
  FILES.authorityKey,
] as const

const KEY_BYTES = 32
const PASSWORD_BYTES = 24

/** Afterwards the folder has the secrets of the control plane: those that are there, and new ones. */
export async function keepSharedFiles(
  files: OwnFiles,
  plane: ControlPlane,
  { directory }: Folders,
): Promise<void> {
  await files.settings(FILES.plane, () => `${JSON.stringify(plane, null, 2)}\n`)
  const tls = {
    certificateFile: join(directory, FILES.certificate),
    keyFile: join(directory, FILES.key),
  }
  await files.adopt([FILES.certificate, FILES.key], () =>
    makeSelfSigned(tls, certificateNames(plane), issuerIn(directory)),
  )
  await files.adopt(BUS_KEYS, () => {
    natsKeys(directory)
  })
  await files.settings(FILES.gatewayKey, () => hex(KEY_BYTES))
  await files.settings('mariadb.password', () => hex(PASSWORD_BYTES))
  await files.settings('database.password', () => hex(PASSWORD_BYTES))
  await files.settings('admin.password', () => hex(PASSWORD_BYTES))
  await files.settings('demo.password', () => hex(PASSWORD_BYTES))
}

/** Undefined for the first site, whose certificate is its own authority, and that of the others. */
export function issuerIn(directory: string): CertificateFiles | undefined {
  const certificateFile = join(directory, FILES.authority)
  const keyFile = join(directory, FILES.authorityKey)
  return existsSync(certificateFile) ? { certificateFile, keyFile } : undefined
}

/** Of the one certificate of all machines and proxies. It is its own authority, which nothing else trusts. */
export function certificateNames({ machines, endpoint }: ControlPlane): readonly string[] {
  const names = [...new Set([endpoint, ...machines, '127.0.0.1', 'localhost'])]
  return names.map((name) => (isIP(name) === 0 ? `DNS:${name}` : `IP:${name}`))
}

/** The certificates by which gateways and databases of all sites are recognized. */
export function authorityIn(directory: string): string {
  const authority = join(directory, FILES.authority)
  return existsSync(authority) ? authority : join(directory, FILES.certificate)
}

/** The URL of the gateways' database at the control plane's own machines. */
export function ownDatabaseUrl({ machines }: ControlPlane, { directory }: Folders): string {
  const password = readSecret(directory, 'database.password')
  const servers = machines.map((each) => `${isIP(each) === 6 ? `[${each}]` : each}:${PORTS.sql}`)
  const ca = authorityIn(directory)
  return `mysql://weir:${password}@${servers.join(',')}/weir?ssl-ca=${ca}`
}

/** clouds.yaml with the administrator and the demo project's user, at the proxies. */
export function cloudsYaml(plane: ControlPlane, { directory }: Folders): string {
  const cloud = (username: 'admin' | 'demo') => ({
    auth: {
      auth_url: `${endpointUrl(plane)}/identity/v3`,
      username,
      password: readSecret(directory, `${username}.password`),
      project_name: username,
      user_domain_id: 'default',
      project_domain_id: 'default',
    },
    region_name: plane.settings['GATEWAY_REGION'] ?? 'RegionOne',
    identity_api_version: '3',
    cacert: authorityIn(directory),
  })
  return stringify({ clouds: { weir: cloud('demo'), 'weir-admin': cloud('admin') } })
}

export function readSecret(directory: string, name: string): string {
  return readFileSync(join(directory, name), 'utf8').trim()
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}
