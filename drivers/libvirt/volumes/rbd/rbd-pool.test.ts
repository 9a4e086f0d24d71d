import { expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId } from '#common/ids.ts'
import { renderXml } from '../../xml/element.ts'
import { parseXml } from '../../xml/parse.ts'
import { volumeDisk } from '../volume-device.ts'
import { clientConfiguration, keyringOf, parseRbdPool } from './rbd-pool.ts'

const pool = (source: string) =>
  parseXml(`<pool type='rbd'><name>ceph</name><source>${source}</source></pool>`)
const MONITORS = `<host name='192.0.2.1' port='6789'/><host name='2001:db8::1'/><name>volumes</name>`
const SECRET = '5a5b1a5e-6b0f-4f0e-9d0c-5d8d7c3a4b11'

test('monitors, pool, user and secret are those of the definition', () => {
  const login = (secret: string) => `<auth type='ceph' username='weir'><secret ${secret}/></auth>`
  const monitors = [{ host: '192.0.2.1', port: '6789' }, { host: '2001:db8::1' }]

  const byUuid = parseRbdPool('ceph', pool(MONITORS + login(`uuid='${SECRET}'`)))
  const byUsage = parseRbdPool('ceph', pool(MONITORS + login(`usage='client.weir'`)))

  const user = 'weir'
  expect(byUuid).toEqual({
    ...{ pool: 'volumes', monitors, login: { user, secret: { uuid: SECRET } } },
  })
  expect(byUsage.login).toEqual({ user, secret: { usage: 'client.weir' } })
  expect(parseRbdPool('ceph', pool(MONITORS))).toEqual({ pool: 'volumes', monitors })
  expect(clientConfiguration(byUuid, '/keys')).toMatch(
    /mon_host = 192\.0\.2\.1:6789,\[2001:db8::1\]\nkeyring = \/keys\n/,
  )
  expect(keyringOf(byUuid, Buffer.from('key'))).toBe('[client.weir]\n\tkey = a2V5\n')
})

test.each(['<name>volumes</name>', `<host name='192.0.2.1'/>`])(
  'a definition with only %s is refused',
  (source) => {
    const parse = () => parseRbdPool('ceph', pool(source))

    expect(parse).toThrow('Storage pool ceph names no monitor or no pool of Ceph.')
  },
)

test("a guest's disk reaches the image as the pool's definition says", () => {
  const auth = `<auth type='ceph' username='weir'><secret uuid='${SECRET}'/></auth>`
  const rbd = parseRbdPool('ceph', pool(MONITORS + auth))
  const volume = {
    ...{ store: 'store', id: newId<VolumeId>(), attachmentId: newId<AttachmentId>() },
    ...{ isReadOnly: false, isShared: false, path: 'volumes/weir-1', rbd },
  }

  const xml = renderXml(volumeDisk(volume, 'vdb'))

  expect(xml).toContain('<disk type="network" device="disk">')
  expect(xml).toContain(
    '<source protocol="rbd" name="volumes/weir-1"><host name="192.0.2.1" port="6789"></host>' +
      '<host name="2001:db8::1"></host><auth username="weir">' +
      `<secret type="ceph" uuid="${SECRET}"></secret></auth></source>`,
  )
  const { rbd: _rbd, ...inFolder } = volume
  const file = renderXml(volumeDisk(inFolder, 'vdb'))
  expect(file).toContain('<source file="volumes/weir-1"></source>')
})
