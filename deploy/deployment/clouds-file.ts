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
}

const PASSWORD_BYTES = 18

/** True when passwords were chosen before. */
function hasCloudsFile(layout: Layout): boolean {
  return existsSync(layout.cloudsFile)
}

/** Afterwards clouds.yaml (0600) names this endpoint; its passwords, random when new, stay. */
export function writeCloudsFile(layout: Layout, endpoint: string, region: string): void {
  const old = readClouds(layout)
  const cloud = (name: CloudName, username: string): Cloud => ({
    auth: {
      auth_url: `${endpoint}/identity/v3`,
      username,
      password: old?.[name].auth.password ?? randomBytes(PASSWORD_BYTES).toString('base64url'),
      project_name: username,
      user_domain_id: 'default',
      project_domain_id: 'default',
    },
    region_name: region,
    identity_api_version: '3',
  })
  const clouds = { weir: cloud('weir', 'demo'), 'weir-admin': cloud('weir-admin', 'admin') }
  writeFileAtomically(layout.cloudsFile, stringify({ clouds }))
}

/** Who a cloud of clouds.yaml signs in as. */
export function cloudAccount(layout: Layout, name: CloudName): Account {
  const cloud = readClouds(layout)?.[name]
  if (cloud === undefined) throw new Error(`${layout.cloudsFile} has no cloud ${name}`)
  const { username, password, project_name } = cloud.auth
  return { userName: username, password, projectName: project_name }
}

function readClouds(layout: Layout): Readonly<Record<CloudName, Cloud>> | undefined {
  if (!hasCloudsFile(layout)) return undefined
  const file = parse(readFileSync(layout.cloudsFile, 'utf8')) as {
    clouds: Readonly<Record<CloudName, Cloud>>
  }
  return file.clouds
}
