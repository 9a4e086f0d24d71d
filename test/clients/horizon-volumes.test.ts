import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Loose } from '#test/env/api/client.ts'
import { activeServer } from '#test/env/api/servers.ts'
import { showStored } from '#test/env/api/volumes.ts'
import { whyNoBrowser } from '#test/env/browser.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { whyNoHorizon } from '#test/env/horizon.ts'
import type { Shown } from '#test/env/horizon-forms.ts'
import { HORIZON_STORES, HorizonVolumes, type Named } from '#test/env/horizon-volumes.ts'

// Goal: each form and button that Horizon offers for the volumes of a project does on Weir what it says, which the API then shows.

const why = whyNoBrowser() ?? whyNoHorizon()
const VOLUMES = '/project/volumes/'
const options = { timeout: 240_000, skip: why !== undefined || !isFullRun }

describe(`Horizon and the volumes of a project (${why ?? 'installed'})`, options, () => {
  let panels: HorizonVolumes
  let server: string
  /** The types of the store that the server's host reaches, and of the other one. */
  let near: string
  let far: string

  beforeAll(async () => {
    panels = await HorizonVolumes.start()
    server = (await activeServer(panels.cloud, panels.demo, { name: 'present' })).id
    const { body } = await panels.admin.get<Loose>(`/compute/v2.1/servers/${server}`)
    const [first, second] = HORIZON_STORES
    const isFirst = (body['server'] as Loose)['OS-EXT-SRV-ATTR:host'] === 'north-1'
    ;[near, far] = isFirst ? [first, second] : [second, first]
    const stores = { [near]: near, [far]: far, own: near, lost: 'nowhere' }
    for (const [name, store] of Object.entries(stores)) await panels.makeType(name, store)
  }, 300_000)

  afterAll(() => panels?.[Symbol.asyncDispose]())

  test('a user makes volumes of nothing, an image, a volume and a snapshot', async () => {
    await panels.signIn('demo')
    const data = await panels.create('data', { description: 'mine', type: near })
    expect(await panels.show(data)).toMatchObject({
      ...{ size: 1, description: 'mine', volume_type: near, bootable: 'false' },
    })
    const { image } = panels.cloud.catalog
    const ofImage = { volume_source_type: 'image_source', image_source: image }
    const root = await panels.create('root', { ...ofImage, type: near, availability_zone: 'north' })
    expect(await panels.show(root)).toMatchObject({
      ...{ bootable: 'true', volume_image_metadata: { image_id: image } },
    })
    const copied = { volume_source_type: 'volume_source', volume_source: data, size: '2' }
    const copy = await panels.create('copy', copied)
    expect(await panels.show(copy)).toMatchObject({
      size: 2,
      source_volid: data,
      volume_type: near,
    })
    const kept = await panels.snapshot(data, 'first')
    expect(await panels.show(kept, 'snapshot')).toMatchObject({
      volume_id: data,
      description: 'kept',
    })
    const ofSnapshot = { volume_source_type: 'snapshot_source', snapshot_source: kept }
    expect(await panels.show(await panels.create('again', ofSnapshot))).toMatchObject({
      snapshot_id: kept,
    })
    const path = `${VOLUMES}create/?snapshot_id=${kept}`
    await panels.send(path, { name: 'linked' })
    expect(await panels.show(await panels.idOf('linked'))).toMatchObject({
      snapshot_id: kept,
      size: 1,
    })
    await createAsImagesPanel()

    await panels.refused(
      `${VOLUMES}create/`,
      { ...copied, volume_source: copy, name: 'small', size: '1' },
      'cannot be less than the source volume size (2GiB)',
    )
  })

  /** The images panel makes a volume of an image through a script. */
  async function createAsImagesPanel(): Promise<void> {
    const { status, text } = await panels.forms.change('POST', '/api/cinder/volumes/', {
      ...{ name: 'scripted', description: '', size: 1, volume_type: near, snapshot_id: null },
      ...{ metadata: {}, image_id: panels.cloud.catalog.image, availability_zone: 'north' },
      source_volid: null,
    })
    expect({ status, text }).toMatchObject({ status: 201 })
    await panels.until(await panels.idOf('scripted'), { status: 'available' })
  }

  test('a user renames a volume, describes it, makes it bootable and extends it', async () => {
    await panels.signIn('demo')
    const id = await panels.idOf('data')
    await panels.send(`${VOLUMES}${id}/update/`, {
      name: 'work',
      description: 'ours',
      bootable: true,
    })
    expect(await panels.show(id)).toMatchObject({
      name: 'work',
      description: 'ours',
      bootable: 'true',
    })
    await panels.send(`${VOLUMES}${id}/update/`, { name: 'data', description: '', bootable: false })
    expect(await panels.show(id)).toMatchObject({
      name: 'data',
      description: '',
      bootable: 'false',
    })
    await panels.send(`${VOLUMES}${id}/extend/`, { new_size: '3' })
    await panels.until(id, { status: 'available' })
    expect(await panels.show(id)).toMatchObject({ size: 3 })
    await panels.tag('volumes', id, { role: 'data', left: 'soon' }, [])
    await panels.tag('volumes', id, {}, ['left'])
    expect(await panels.show(id)).toMatchObject({ metadata: { role: 'data' } })
    await panels.refused(
      `${VOLUMES}${id}/extend/`,
      { new_size: '2' },
      'must be greater than current size',
    )
  })

  test('a user attaches a volume, uses it, and detaches it', async () => {
    await panels.signIn('demo')
    const id = await panels.idOf('data')
    await panels.send(`${VOLUMES}${id}/attach/`, { instance: server })
    await panels.until(id, { status: 'in-use' })
    const shown = await panels.look(VOLUMES)
    expect(shown.text).toContain('/dev/vdb on present')
    expect(shown.offered).not.toContain(`volumes__delete__${id}`)
    expect((await panels.look(`${VOLUMES}${id}/`)).text).toContain('present on /dev/vdb')
    await panels.send(`${VOLUMES}${id}/extend/`, { new_size: '4' })
    await panels.until(id, { status: 'in-use', size: 4 })
    await panels.snapshot(id, 'live')
    const [{ attachment_id }] = (await panels.show(id))['attachments'] as readonly [
      Record<string, string>,
    ]
    await panels.press(`${VOLUMES}${id}/attach/`, `attachments__detach__${attachment_id}`)
    await panels.until(id, { status: 'available' })
    expect((await panels.show(id))['attachments']).toEqual([])
    const { body } = await panels.demo.get<Loose>(
      `/compute/v2.1/servers/${server}/os-volume_attachments`,
    )
    expect(body['volumeAttachments']).toEqual([])
  })

  test('a user changes snapshots, and deletes them', async () => {
    await panels.signIn('demo')
    const [first, live] = [
      await panels.idOf('first', 'snapshot'),
      await panels.idOf('live', 'snapshot'),
    ]
    await panels.send(`/project/snapshots/${first}/update/`, {
      name: 'eldest',
      description: 'before',
    })
    expect(await panels.show(first, 'snapshot')).toMatchObject({
      name: 'eldest',
      description: 'before',
    })
    await panels.tag('volumesnapshots', first, { a: 'b', c: 'd' }, [])
    await panels.tag('volumesnapshots', first, {}, ['a'])
    expect((await panels.show(first, 'snapshot'))['metadata']).toEqual({ c: 'd' })
    expect((await panels.look(`/project/snapshots/${first}`)).heading).toBe('eldest')
    expect((await panels.look('/project/snapshots/')).text).toMatch(/eldest .*data/)
    const volume = await panels.idOf('data')
    const tab = await panels.look(`${VOLUMES}${volume}/?tab=volume_details__snapshots_tab`)
    expect(tab.text).toContain('eldest')
    expect((await panels.look(VOLUMES)).offered).not.toContain(`volumes__delete__${volume}`)
    await panels.press('/project/snapshots/', `volume_snapshots__delete__${live}`)
    await panels.untilGone(live, 'snapshot')
  })

  test('a user uploads a volume as an image', async () => {
    await panels.signIn('demo')
    const id = await panels.idOf('copy')
    const path = `${VOLUMES}${id}/upload_to_image/`
    await panels.send(path, { image_name: 'made', disk_format: 'raw' })
    await panels.until(id, { status: 'available' })
    const { body } = await panels.demo.get<Loose>('/image/v2/images?name=made')
    expect(body['images']).toMatchObject([
      { status: 'active', disk_format: 'raw', container_format: 'bare', min_disk: 2 },
    ])
    await panels.refused(path, { image_name: 'other', disk_format: 'vmdk' }, 'raw or qcow2')
    const shown = await panels.look(`${VOLUMES}create/`)
    expect(shown.text).toContain('made')
  })

  test('a user changes the type of a volume, to another store too', async () => {
    await panels.signIn('demo')
    const id = await panels.idOf('copy')
    const path = `${VOLUMES}${id}/retype/`
    await panels.send(path, { volume_type: 'own', migration_policy: 'never' })
    await panels.until(id, { volume_type: 'own', status: 'available' })
    expect(await panels.hostOf(id)).toContain(near)
    const never = { volume_type: far, migration_policy: 'never' }
    await panels.refused(path, never, 'Unable to change the volume type')
    expect(await panels.show(id)).toMatchObject({ volume_type: 'own', status: 'available' })
    await panels.send(path, { volume_type: far, migration_policy: 'on-demand' })
    await panels.until(id, { volume_type: far, status: 'available' })
    expect(await panels.hostOf(id)).toContain(far)
  })

  test('a user gives a volume away, and takes the offer back', async () => {
    await panels.signIn('demo')
    const id = await panels.idOf('copy')
    const offer = async (name: string) => {
      const { fields } = await panels.send(`${VOLUMES}${id}/create_transfer/`, { name })
      expect(await panels.show(id)).toMatchObject({ status: 'awaiting-transfer' })
      return { transfer_id: fields['id']!, auth_key: fields['auth_key']! }
    }
    await offer('gift')
    expect((await panels.look(VOLUMES)).text).toContain('Awaiting Transfer')
    await panels.press(VOLUMES, `volumes__delete_transfer__${id}`)
    expect(await panels.show(id)).toMatchObject({ status: 'available' })
    expect(await panels.all('volume-transfers', 'transfers')).toEqual([])

    const offered = await offer('present')
    const path = `${VOLUMES}${offered.transfer_id}/download_creds/${offered.auth_key}`
    expect((await panels.forms.open(path)).text).toContain(offered.auth_key)
    await panels.signIn('stranger')
    const stranger = panels.cloud.as('stranger')
    const wrong = { ...offered, auth_key: '0123456789abcdef' }
    const accept = `${VOLUMES}accept_transfer/`
    await panels.refused(accept, wrong, 'Unable to accept volume transfer.')
    await panels.send(accept, offered)
    expect(await showStored(panels.demo, 'volume', id)).toBeUndefined()
    expect(await panels.show(id, 'volume', stranger)).toMatchObject({
      ...{
        name: 'copy',
        'os-vol-tenant-attr:tenant_id': await panels.cloud.projectId('elsewhere'),
      },
    })
    await panels.press(VOLUMES, `volumes__delete__${id}`)
    await panels.untilGone(id, 'volume', stranger)
  })

  test('a message tells a user why a volume could not be made', async () => {
    await panels.signIn('demo')
    await panels.send(`${VOLUMES}create/`, { name: 'nowhere', size: '1', type: 'lost' })
    const id = await panels.idOf('nowhere')
    await panels.until(id, { status: 'error' })
    const { text } = await panels.look(`${VOLUMES}${id}/?tab=volume_details__messages_tab`)
    const [told] = await panels.all<Loose>('messages', 'messages', panels.demo, '3.3')
    expect(text).toContain(told!['user_message'])
  })

  test('a user turns pages, and deletes what is left', async () => {
    await panels.signIn('demo')
    await panels.send('/settings/', { pagesize: '2' })
    const present = (await panels.all<Named>('volumes', 'volumes')).map(({ name }) => name)
    const named = ({ text }: Shown) => present.filter((name) => text.includes(` ${name} `))
    const linkIn = (page: Shown, what: string) =>
      page.offered.find((each) => each.includes(`?${what}`))
    const pages = [await panels.look(VOLUMES)]
    for (let next = linkIn(pages[0]!, 'marker='); next !== undefined; ) {
      pages.push(await panels.look(VOLUMES + next))
      next = linkIn(pages.at(-1)!, 'marker=')
    }
    expect(pages.flatMap(named).toSorted()).toEqual(present.toSorted())
    expect(pages).toHaveLength(Math.ceil(present.length / 2))
    const before = await panels.look(VOLUMES + linkIn(pages[1]!, 'prev_marker='))
    expect(named(before)).toEqual(named(pages[0]!))
    await panels.send('/settings/', { pagesize: '20' })

    const kept = await panels.all<Named>('snapshots', 'snapshots')
    await panels.press('/project/snapshots/', 'volume_snapshots__delete', {
      object_ids: kept.map(({ id }) => id),
    })
    for (const { id } of kept) await panels.untilGone(id, 'snapshot')
    const volumes = await panels.all<Named>('volumes', 'volumes')
    const [last, ...rest] = volumes.map(({ id }) => id)
    await panels.press(VOLUMES, 'volumes__delete', { object_ids: rest })
    await panels.press(VOLUMES, `volumes__delete__${last}`)
    for (const { id } of volumes) await panels.untilGone(id)
  })
})
