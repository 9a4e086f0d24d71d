import { hostname } from 'node:os'
import { Agent } from 'undici'
import { EnvReader, SettingsError } from '#common/env.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import { loginSource } from '../cloud-login.ts'
import { pemFile } from '../pem-file.ts'
import { type Authorization, basicAuthorization, KeystoneAuthorization } from './authorization.ts'

export interface IronicSettings {
  /** Of ironic's API, without `/v1`. */
  readonly url: string
  readonly authorization: Authorization
  /** What ironic and its Keystone are spoken to through. */
  readonly agent: Agent
  /** Only nodes of this conductor group are this host's; absent: all. */
  readonly conductorGroup: string | undefined
  /** What ironic, and the ramdisks it boots, reach this host's image server under. */
  readonly imageUrl: string
  readonly imageAddress: string
  readonly imagePort: number
  readonly deployMinutes: number
  readonly hostname: string
}

const HTTP_PORT = 80

/** Settings from plain text; throws one error that names every problem. */
export function ironicSettings(settings: Readonly<Record<string, string>>): IronicSettings {
  const reader = new EnvReader(settings, '')
  const url = reader.text('url')
  const imageUrl = reader.text('image_url')
  const agent = agentOf(reader)
  const image = URL.canParse(imageUrl) ? new URL(imageUrl) : undefined
  const read: IronicSettings = {
    url: withoutTrailing(url, '/'),
    agent,
    authorization: authorizationOf(reader, agent),
    conductorGroup: reader.optionalText('conductor_group'),
    imageUrl: withoutTrailing(imageUrl, '/'),
    imageAddress: reader.text('image_address', image?.hostname ?? ''),
    imagePort: reader.integer('image_port', Number(image?.port) || HTTP_PORT, 0, 65_535),
    deployMinutes: reader.integer('deploy_minutes', 60, 1),
    hostname: reader.text('hostname', hostname()),
  }
  reader.finish()
  const wrong = [
    ...(URL.canParse(url) ? [] : ['url: no URL']),
    ...(image === undefined ? ['image_url: no URL'] : []),
  ]
  if (wrong.length > 0) throw new SettingsError(wrong)
  return read
}

/** Certificates are always verified: by `ca_file` where it is named, else by those that Node trusts. */
function agentOf(reader: EnvReader): Agent {
  const caFile = reader.optionalText('ca_file')
  return new Agent(caFile === undefined ? {} : { connect: { ca: pemFile('ca_file', caFile) } })
}

/** Keystone's where it is named, else HTTP basic authentication, or none. */
function authorizationOf(reader: EnvReader, agent: Agent): Authorization {
  const authUrl = reader.optionalText('auth_url')
  if (authUrl !== undefined) return new KeystoneAuthorization(authUrl, loginSource(reader), agent)
  const username = reader.optionalText('username')
  return basicAuthorization(
    username === undefined ? undefined : { username, password: reader.secret('password') },
  )
}
