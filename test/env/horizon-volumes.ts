import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { ApiClient, Loose } from './api/client.ts'
import {
  BLOCK_STORAGE,
  type StoredBody,
  showStored,
  untilStored,
  type VolumeKind,
} from './api/volumes.ts'
import { Browser } from './browser.ts'
import type { AccountName } from './cloud/foundation.ts'
import { type Cloud, startCloud } from './cloud.ts'
import { startHorizon } from './horizon.ts'
import { type Field, HorizonForms, type Shown } from './horizon-forms.ts'
import { testServices } from './services.ts'
import { storesReported } from './stores-reported.ts'

const LIMIT_MS = 60_000
/** The stores of the hosts `north-1` and `north-2`, by which types choose. */
export const HORIZON_STORES = ['bronze', 'gold'] as const

export type Fields = Readonly<Record<string, Field>>
export type Named = Readonly<Record<'id' | 'name', string>>

/** Horizon on a cloud of two stores, whose forms are sent, and the Block Storage API, which shows what they did. */
export class HorizonVolumes implements AsyncDisposable {
  readonly cloud: Cloud
  readonly forms: HorizonForms
  readonly demo: ApiClient
  readonly admin: ApiClient
  readonly #owned: AsyncDisposableStack

  private constructor(owned: AsyncDisposableStack, cloud: Cloud, forms: HorizonForms) {
    this.cloud = cloud
    this.forms = forms
    this.demo = cloud.as('demo')
    this.admin = cloud.as('admin')
    this.#owned = owned
  }

  static async start(): Promise<HorizonVolumes> {
    await using owned = new AsyncDisposableStack()
    const folder = mkdtempSync(join((await testServices()).directory, 'stores-'))
    const storeOf = (name: string) => ({
      ...{ volume_store: join(folder, name), volume_store_name: name },
    })
    const [first, second] = HORIZON_STORES
    const cloud = owned.use(
      await startCloud({
        ...{ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 2 },
        driverOf: { 'north-1': storeOf(first), 'north-2': storeOf(second) },
      }),
    )
    const horizon = owned.use(await startHorizon(`${cloud.endpoints[0]}/identity/v3`))
    const forms = new HorizonForms(owned.use(await Browser.start()), horizon.url)
    await storesReported(cloud)
    return new HorizonVolumes(owned.move(), cloud, forms)
  }

  signIn(who: AccountName): Promise<void> {
    return this.forms.signIn(this.cloud.foundation.accounts[who])
  }

  /** Sends a form, which Horizon takes: the page that follows says that it worked, and of no error. */
  async send(path: string, fields: Fields, button?: string): Promise<Shown> {
    const shown = await this.forms.send({ path, fields, ...(button !== undefined && { button }) })
    expect(shown.errors, path).toEqual([])
    expect(shown.messages, `${path}: ${shown.text}`).not.toEqual([])
    return shown
  }

  /** The same for a button of a table. */
  press(path: string, button: string, fields: Fields = {}): Promise<Shown> {
    return this.send(path, fields, button)
  }

  /** Sends a form, which the cloud or Horizon refuses for this reason. */
  async refused(path: string, fields: Fields, reason: string): Promise<void> {
    const { errors, text } = await this.forms.send({ path, fields })
    expect(errors.join(), `${path}: ${text}`).toContain(reason)
  }

  /** A page that can show all it is about. */
  async look(path: string): Promise<Shown> {
    const shown = await this.forms.open(path)
    const { status, errors } = shown
    expect({ path, status, errors }).toEqual({ path, status: 200, errors: [] })
    return shown
  }

  /** Changes metadata as the dialog does that the pages open for it. */
  async tag(kind: string, id: string, updated: object, removed: readonly string[]): Promise<void> {
    const path = `/api/cinder/${kind}/${id}/metadata`
    const answer = await this.forms.change('PATCH', path, { updated, removed })
    expect(answer, path).toMatchObject({ status: 204 })
  }

  async all<One = StoredBody>(
    path: string,
    kind: string,
    client = this.demo,
    version: Microversion = '3.0',
  ): Promise<readonly One[]> {
    const { body } = await client.get<Loose>(`${BLOCK_STORAGE}/${path}`, { version })
    return body[kind] as readonly One[]
  }

  /** The id of what has this name. */
  async idOf(name: string, kind: VolumeKind = 'volume'): Promise<string> {
    const all = await this.all<Named>(`${kind}s`, `${kind}s`)
    const found = all.find((each) => each.name === name)
    if (found === undefined) throw new Error(`There is no ${kind} ${name}`)
    return found.id
  }

  async show(id: string, kind: VolumeKind = 'volume', client = this.demo): Promise<StoredBody> {
    return (await showStored(client, kind, id))!
  }

  /** Where the volume is, as the API tells administrators. */
  async hostOf(id: string): Promise<string> {
    return String((await this.show(id, 'volume', this.admin))['os-vol-host-attr:host'])
  }

  /** Waits until it shows this. */
  until(id: string, wanted: Loose, kind: VolumeKind = 'volume'): Promise<unknown> {
    const isSo = async () => {
      const shown = await this.show(id, kind)
      return Object.entries(wanted).every(([field, value]) => shown[field] === value)
    }
    return waitFor(`${kind} ${id} to show ${JSON.stringify(wanted)}`, isSo, LIMIT_MS)
  }

  untilGone(id: string, kind: VolumeKind = 'volume', client = this.demo): Promise<unknown> {
    const isGone = async () => (await showStored(client, kind, id)) === undefined
    return waitFor(`${kind} ${id} to be gone`, isGone, LIMIT_MS)
  }

  /** Makes a volume in Horizon's form, and resolves with its id once it is available. */
  async create(name: string, fields: Fields = {}): Promise<string> {
    await this.send('/project/volumes/create/', { name, size: '1', ...fields })
    const id = await this.idOf(name)
    await untilStored(this.demo, 'volume', id, 'available')
    return id
  }

  /** The same for a snapshot. */
  async snapshot(volume: string, name: string): Promise<string> {
    const fields = { name, description: 'kept' }
    await this.send(`/project/volumes/${volume}/create_snapshot/`, fields)
    const id = await this.idOf(name, 'snapshot')
    await untilStored(this.demo, 'snapshot', id, 'available')
    return id
  }

  async typeNamed(name: string): Promise<(Named & Loose) | undefined> {
    const all = await this.all<Named & Loose>('types?is_public=None', 'volume_types', this.admin)
    return all.find((each) => each.name === name)
  }

  /** Makes a type through the API, for volumes in this store. */
  async makeType(name: string, store: string): Promise<void> {
    const volume_type = { name, extra_specs: { volume_backend_name: store } }
    expect((await this.admin.post(`${BLOCK_STORAGE}/types`, { volume_type })).status).toBe(200)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync()
  }
}
