import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'
import type { Account } from '../api/session.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import type { Layout } from './layout.ts'

/** Names in clouds.yaml: the demo project's user, and the administrator. */
export type CloudName = 'weir' | 'weir-admin'

/** One entry of clouds.yaml, as openstacksdk reads it. */
interface Cloud {
  readonly auth: {
    readonly auth_url: string
    readonly username: string
    readonly password: string
    readonly project_name: string
    readonly user_domain_id: string
    readonly project_domain_id: string
  }
  readonly region_name: string
  readonly identity_api_version: '3'
  /** A file with the certificate to verify the endpoint with. */
  readonly cacert?: string
}

/** Where a deployment serves. */
export interface Endpoints {
  readonly local: string
  /** For other machines; undefined where it serves none. */
  readonly remote: string | undefined
  readonly region: string
}

const PASSWORD_BYTES = 18

/** True when passwords were chosen before. */
function hasCloudsFile(layout: Layout): boolean {
  return existsSync(layout.cloudsFile)
}

/**
 * Afterwards clouds.yaml (0600) names these endpoints; its passwords, random when new, stay. The entry `weir-remote` is for
 * other machines: a copy of it there names a copy of the certificate.
 */
export function writeCloudsFile(layout: Layout, endpoints: Endpoints): void {
  const { local, remote, region } = endpoints
  const old = readClouds(layout)
  const cloud = (name: CloudName, username: string): Cloud => ({
    auth: {
      auth_url: `${local}/identity/v3`,
      username,
      password: old?.[name].auth.password ?? randomBytes(PASSWORD_BYTES).toString('base64url'),
      project_name: username,
      user_domain_id: 'default',
      project_domain_id: 'default',
    },
    region_name: region,
    identity_api_version: '3',
  })
  const weir = cloud('weir', 'demo')
  const auth = { ...weir.auth, auth_url: `${remote}/identity/v3` }
  const clouds = {
    weir,
    'weir-admin': cloud('weir-admin', 'admin'),
    ...(remote !== undefined && {
      'weir-remote': { ...weir, auth, cacert: layout.certificateFile },
    }),
  }
  writeFileAtomically(layout.cloudsFile, stringify({ clouds }))
}

/** A cloud of clouds.yaml as the variables that every OpenStack client reads. */
export function openrcVariables(
  layout: Layout,
  name: CloudName,
): readonly (readonly [name: string, value: string])[] {
  const { auth, region_name, identity_api_version } = cloudOf(layout, name)
  return [
    ...Object.entries(auth).map(([key, value]) => [`OS_${key.toUpperCase()}`, value] as const),
    ['OS_REGION_NAME', region_name],
    ['OS_IDENTITY_API_VERSION', identity_api_version],
  ]
}

/** Who a cloud of clouds.yaml signs in as. */
export function cloudAccount(layout: Layout, name: CloudName): Account {
  const { username, password, project_name } = cloudOf(layout, name).auth
  return { userName: username, password, projectName: project_name }
}

function cloudOf(layout: Layout, name: CloudName): Cloud {
  const cloud = readClouds(layout)?.[name]
  if (cloud === undefined) throw new Error(`${layout.cloudsFile} has no cloud ${name}`)
  return cloud
}

function readClouds(layout: Layout): Readonly<Record<CloudName, Cloud>> | undefined {
  if (!hasCloudsFile(layout)) return undefined
  const file = parse(readFileSync(layout.cloudsFile, 'utf8')) as {
    clouds: Readonly<Record<CloudName, Cloud>>
  }
  return file.clouds
}
