import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { Failure } from '#common/errors.ts'

/** A cloud of clouds.yaml as the driver `nested` is told of it: how to log in, and all else. */
export interface CloudEntry {
  readonly login: Readonly<Record<string, string>>
  readonly settings: Readonly<Record<string, string>>
}

type Texts = Readonly<Record<string, string | undefined>>

interface Entry extends Readonly<Record<string, unknown>> {
  readonly auth?: Texts
  readonly region_name?: string
  readonly interface?: string
  readonly cacert?: string
  readonly verify?: boolean
}

/** The entry of the first clouds.yaml that OpenStack's clients would read. Throws `not-found`, `invalid`. */
export function readCloudEntry(name: string): CloudEntry {
  const path = cloudsFile()
  const file = parse(readFileSync(path, 'utf8')) as { clouds?: Readonly<Record<string, Entry>> }
  const entry = file.clouds?.[name]
  if (entry?.auth !== undefined) return cloudEntry(entry, entry.auth)
  const names = Object.keys(file.clouds ?? {}).join(', ')
  throw new Failure('not-found', `${path} has no cloud ${name} with an auth. It has: ${names}`)
}

function cloudsFile(): string {
  const named = process.env['OS_CLIENT_CONFIG_FILE']
  const folders = ['.', join(homedir(), '.config/openstack'), '/etc/openstack']
  const places =
    named === undefined ? folders.map((folder) => join(folder, 'clouds.yaml')) : [named]
  const found = places.find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new Failure('not-found', `There is no clouds.yaml: ${places.join(', ')}`)
}

export function cloudEntry(entry: Entry, auth: Texts): CloudEntry {
  if (entry.verify === false)
    throw new Failure(
      'invalid',
      'Certificates are always verified: name cacert, not verify: false.',
    )
  const cacert = entry.cacert === undefined ? undefined : resolve(entry.cacert)
  return {
    login: auth['application_credential_id'] === undefined ? passwordLogin(auth) : credential(auth),
    settings: given({
      auth_url: needed(auth, 'auth_url'),
      region: entry.region_name,
      interface: entry.interface,
      ca_file: cacert,
    }),
  }
}

function credential(auth: Texts): Readonly<Record<string, string>> {
  const names = ['application_credential_id', 'application_credential_secret']
  return Object.fromEntries(names.map((name) => [name, needed(auth, name)]))
}

function passwordLogin(auth: Texts): Readonly<Record<string, string>> {
  return given({
    user: needed(auth, 'username'),
    password: needed(auth, 'password'),
    project: needed(auth, 'project_name'),
    user_domain: domainOf(auth, 'user_domain'),
    project_domain: domainOf(auth, 'project_domain'),
  })
}

/** Of all ids only that of Keystone's first domain is a name as well. */
function domainOf(auth: Texts, what: 'user_domain' | 'project_domain'): string | undefined {
  const name = auth[`${what}_name`]
  const id = auth[`${what}_id`]
  if (name === undefined && id !== undefined && id !== 'default')
    throw new Failure('invalid', `clouds.yaml: name the domain in ${what}_name, not by its id.`)
  return name ?? id
}

function needed(auth: Texts, name: string): string {
  const value = auth[name]
  if (value !== undefined) return value
  throw new Failure('invalid', `clouds.yaml: auth has no ${name}.`)
}

function given(texts: Texts): Readonly<Record<string, string>> {
  const entries = Object.entries(texts).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Readonly<Record<string, string>>
}
