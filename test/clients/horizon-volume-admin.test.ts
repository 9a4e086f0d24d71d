import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { Loose } from '#test/env/api/client.ts'
import { BLOCK_STORAGE, makeStored } from '#test/env/api/volumes.ts'
import { whyNoBrowser } from '#test/env/browser.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { whyNoHorizon } from '#test/env/horizon.ts'
import { HORIZON_STORES, HorizonVolumes, type Named } from '#test/env/horizon-volumes.ts'

// Goal: Horizon's panels for administrators of volumes do on Weir what they say, and say what there is not.

const why = whyNoBrowser() ?? whyNoHorizon()
const LIMIT_MS = 60_000
const TYPES = '/admin/volume_types/'
const options = { timeout: 240_000, skip: why !== undefined || !isFullRun }

describe(`Horizon and the administrators of volumes (${why ?? 'installed'})`, options, () => {
  let panels: HorizonVolumes
  const [near, far] = HORIZON_STORES

  beforeAll(async () => {
    panels = await HorizonVolumes.start()
  }, 300_000)

  afterAll(() => panels?.[Symbol.asyncDispose]())

  test('an administrator makes types, with their specs, encryption and access', async () => {
    await panels.signIn('admin')
    for (const name of [near, far, 'other', 'lost', 'sealed']) {
      await panels.send(`${TYPES}create_type`, { name, vol_type_description: `the ${name} one` })
      expect(await panels.typeNamed(name)).toMatchObject({
        is_public: true,
        description: `the ${name} one`,
      })
    }
    for (const [name, store] of [
      [near, near],
      [far, far],
      ['other', near],
      ['lost', 'nowhere'],
    ]) {
      const { id } = (await panels.typeNamed(name!))!
      const key = { key: 'volume_backend_name', value: store! }
      await panels.send(`${TYPES}${id}/extras/create/`, key)
      expect((await panels.typeNamed(name!))!['extra_specs']).toEqual({
        volume_backend_name: store,
      })
    }
    const { id } = (await panels.typeNamed('other'))!
    await panels.send(`${TYPES}${id}/extras/create/`, { key: 'note', value: 'one' })
    await panels.send(`${TYPES}${id}/extras/note/edit/`, { value: 'two' })
    expect((await panels.typeNamed('other'))!['extra_specs']).toMatchObject({ note: 'two' })
    await panels.press(`${TYPES}${id}/extras/`, 'extras__delete__note')
    await panels.tag('volumetypes', id, { shade: 'dark' }, [])
    expect((await panels.typeNamed('other'))!['extra_specs']).toEqual({
      ...{ volume_backend_name: near, shade: 'dark' },
    })
    await panels.tag('volumetypes', id, {}, ['shade'])
    expect((await panels.typeNamed('other'))!['extra_specs']).toEqual({ volume_backend_name: near })

    await encryptType((await panels.typeNamed('sealed'))!.id)

    await panels.send(`${TYPES}${id}/update_type/`, {
      ...{ name: 'own', description: 'for demo', is_public: false },
    })
    expect(await panels.typeNamed('own')).toMatchObject({
      is_public: false,
      description: 'for demo',
    })
    const names = async () =>
      (await panels.all<Named>('types', 'volume_types')).map(({ name }) => name)
    expect(await names()).not.toContain('own')
    const project = await panels.cloud.projectId('demo')
    await panels.send(`${TYPES}${id}/edit_access/`, { member: [project] })
    expect(await names()).toContain('own')
    const access = () =>
      panels.all<Loose>(`types/${id}/os-volume-type-access`, 'volume_type_access', panels.admin)
    expect(await access()).toEqual([{ volume_type_id: id, project_id: project }])
    const elsewhere = await panels.cloud.projectId('elsewhere')
    await panels.send(`${TYPES}${id}/edit_access/`, { member: [elsewhere] })
    expect(await access()).toEqual([{ volume_type_id: id, project_id: elsewhere }])
    await panels.send(`${TYPES}${id}/edit_access/`, { member: [project] })

    const { text, offered } = await panels.look(TYPES)
    expect(text).toContain('the lost one')
    expect(offered).toContain(`${TYPES}${id}/edit_access/`)
    await panels.refused(
      `${TYPES}create_type`,
      { name: near },
      `Volume type name "${near}" already exists.`,
    )
  })

  async function encryptType(id: string): Promise<void> {
    const given = { provider: 'luks', control_location: 'front-end', cipher: '' }
    const shown = async () =>
      (await panels.admin.get<Loose>(`${BLOCK_STORAGE}/types/${id}/encryption`)).body
    await panels.send(`${TYPES}${id}/create_type_encryption/`, { ...given, key_size: '256' })
    expect(await shown()).toMatchObject({ provider: 'luks', key_size: 256, cipher: null })
    await panels.send(`${TYPES}${id}/update_type_encryption/`, {
      ...{ cipher: 'aes-xts-plain64', key_size: '128' },
    })
    expect(await shown()).toMatchObject({ cipher: 'aes-xts-plain64', key_size: 128 })
    expect((await panels.look(`${TYPES}${id}/type_encryption_detail/`)).text).toContain(
      'aes-xts-plain64',
    )
    await panels.press(TYPES, `volume_types__delete_encryption__${id}`)
    expect(await shown()).toEqual({})
    await panels.send(`${TYPES}${id}/create_type_encryption/`, { ...given, key_size: '256' })
  }

  test('an administrator finds volumes, sets their states and moves them', async () => {
    const volume = (name: string, fields: object) =>
      makeStored(panels.demo, 'volume', { name, size: 1, volume_type: near, ...fields })
    const id = await volume('data', { size: 4 })
    const root = await volume('root', { imageRef: panels.cloud.catalog.image, volume_type: null })
    await volume('closed', { volume_type: 'sealed' })
    await volume('distant', { volume_type: far })
    const kept = await makeStored(panels.demo, 'snapshot', { name: 'kept', volume_id: id })

    await panels.signIn('admin')
    for (const status of ['error', 'maintenance', 'error_deleting', 'available']) {
      await panels.send(`/admin/volumes/${id}/update_status`, { status })
      expect(await panels.show(id)).toMatchObject({ status })
    }
    for (const status of ['error', 'error_deleting', 'available']) {
      await panels.send(`/admin/snapshots/${kept}/update_status/`, { status })
      expect(await panels.show(kept, 'snapshot')).toMatchObject({ status })
    }
    const inUse = 'because volume does not have any attachments'
    await panels.refused(`/admin/volumes/${id}/update_status`, { status: 'in-use' }, inUse)
    const attaching = 'it must be one of "available", "error", "error_deleting", "in-use"'
    await panels.refused(`/admin/volumes/${id}/update_status`, { status: 'attaching' }, attaching)
    expect((await panels.look('/admin/snapshots/')).text).toMatch(/demo .*kept/)
    expect((await panels.look(`/admin/snapshots/${kept}`)).heading).toBe('kept')
    expect((await panels.look(`/admin/volumes/${id}/`)).heading).toBe('data')
    await filterVolumes(await panels.hostOf(id))

    const pools = await panels.all<Named>('scheduler-stats/get_pools', 'pools', panels.admin)
    const former = await panels.hostOf(root)
    const host = pools.find(({ name }) => name !== former)!.name
    await panels.send(`/admin/volumes/${root}/migrate`, { host })
    await waitFor('the move', async () => (await panels.hostOf(root)) === host, LIMIT_MS)
    await panels.until(root, { status: 'available' })
  })

  /** The administrator's list shows for each filter what it says. */
  async function filterVolumes(host: string): Promise<void> {
    const filter = 'volumes__volumes_admin_filter__q'
    const names = async (field: string, value: string) => {
      const fields = { [`${filter}_field`]: field, [filter]: value }
      const { errors, text } = await panels.forms.send({ path: '/admin/volumes/', fields })
      expect(errors, field).toEqual([])
      return ['closed', 'data', 'distant', 'root'].filter((name) => text.includes(` ${name} `))
    }
    expect(await names('name', 'data')).toEqual(['data'])
    expect(await names('bootable', 'Yes')).toEqual(['root'])
    expect(await names('bootable', 'No')).toEqual(['closed', 'data', 'distant'])
    expect(await names('encrypted', 'Yes')).toEqual(['closed'])
    expect(await names('status', 'available')).toHaveLength(4)
    expect(await names('size', '4')).toEqual(['data'])
    expect(await names('availability_zone', 'north')).toHaveLength(4)
    expect(await names('availability_zone', 'mars')).toEqual([])
    expect(await names('project', 'demo')).toHaveLength(4)
    expect(await names('project', 'admin')).toEqual([])
    const there = await names('host', host)
    expect(there).toContain('data')
    expect(there).not.toContain('distant')
    expect(await names('host', 'north')).toHaveLength(4)
    expect(await names('name', '')).toHaveLength(4)
  }

  test('an administrator sets limits, which the overview and the forms keep', async () => {
    const typed = (of: object) =>
      Object.fromEntries(Object.entries(of).map(([name, value]) => [name, String(value)]))
    const projectId = await panels.cloud.projectId('demo')
    const limitsOf = async (project: string) =>
      (await panels.admin.get<Loose>(`${BLOCK_STORAGE}/os-quota-sets/${project}`)).body['quota_set']
    await panels.signIn('admin')
    const limits = { volumes: 11, gigabytes: 1100, snapshots: 12 }
    await panels.send('/admin/defaults/update_defaults', typed(limits))
    expect(await limitsOf(await panels.cloud.projectId('elsewhere'))).toMatchObject(limits)
    const defaults = await panels.look('/admin/defaults/?tab=defaults__volume_quotas')
    expect(defaults.text).toContain('Volume Snapshots 12')
    expect(defaults.text).toContain(`Volumes of Type ${near} -1`)

    const own = { volumes: 4, gigabytes: 99, snapshots: 5 }
    const path = `/identity/${projectId}/update_quotas/`
    await panels.send(path, typed(own))
    expect(await limitsOf(projectId)).toMatchObject(own)
    await panels.signIn('demo')
    const { text } = await panels.look('/project/')
    expect(text).toContain('Volumes Used 4 of 4')
    expect(text).toContain('Volume Storage Used 11GB of 99GB')
    expect(text).toContain('Volume Snapshots Used 1 of 5')
    const more = { name: 'more', size: '1' }
    const reason = 'already using all of your available volumes'
    await panels.refused('/project/volumes/create/', more, reason)
    await panels.signIn('admin')
    await panels.send(path, typed({ ...own, volumes: 5 }))
    await panels.signIn('demo')
    await panels.create('more', { type: near })
  })

  test('panels of what there is not are empty, and say why nothing can be made', async () => {
    await panels.signIn('demo')
    const empty = async (path: string) =>
      expect((await panels.look(path)).text, path).toContain('No items to display')
    for (const panel of ['backups', 'volume_groups', 'vg_snapshots'])
      await empty(`/project/${panel}/`)
    const id = await panels.idOf('data')
    const none = 'Service cinder-backup could not be found'
    const backup = { name: 'safe', container_name: '' }
    await panels.refused(`/project/volumes/${id}/create_backup/`, backup, none)
    const kept = await panels.idOf('kept', 'snapshot')
    await panels.refused(`/project/volumes/${id}/create_backup/${kept}`, backup, none)

    await panels.signIn('admin')
    for (const panel of ['backups', 'volume_groups', 'vg_snapshots', 'group_types'])
      await empty(`/admin/${panel}/`)
    const noGroups = 'Groups of volumes are not supported'
    await panels.refused('/admin/group_types/create_type', { name: 'both' }, noGroups)
    const noSpecs = 'QoS specs are not supported'
    const spec = { name: 'slow', consumer: 'both' }
    await panels.refused(`${TYPES}create_qos_spec`, spec, noSpecs)
    const { id: type } = (await panels.typeNamed(near))!
    const association = await panels.look(`${TYPES}${type}/manage_qos_spec_association/`)
    expect(association.text).toContain('No new QoS spec available')
    const there = { identifier: 'lun-1', host: await panels.hostOf(id) }
    await panels.refused('/admin/volumes/manage/', there, 'Unable to manage volume.')
    await panels.refused(`/admin/volumes/${id}/unmanage`, {}, 'Unable to unmanage volume.')
  })

  test('an administrator deletes volumes, snapshots and types', async () => {
    await panels.signIn('admin')
    const { id: used } = (await panels.typeNamed(near))!
    const { errors } = await panels.forms.send({
      ...{ path: TYPES, fields: {}, button: `volume_types__delete__${used}` },
    })
    expect(errors.join()).toContain(near)
    const kept = await panels.idOf('kept', 'snapshot')
    await panels.press('/admin/snapshots/', `volume_snapshots__delete__${kept}`)
    await panels.untilGone(kept, 'snapshot')
    const ids = (await panels.all<Named>('volumes', 'volumes')).map(({ id }) => id)
    await panels.press('/admin/volumes/', 'volumes__delete', { object_ids: ids })
    for (const id of ids) await panels.untilGone(id)
    const types = await panels.all<Named>('types?is_public=None', 'volume_types', panels.admin)
    await panels.press(TYPES, 'volume_types__delete', { object_ids: types.map(({ id }) => id) })
    expect(await panels.all('types?is_public=None', 'volume_types', panels.admin)).toEqual([])
  })
})
