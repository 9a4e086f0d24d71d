import { expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId } from '#common/ids.ts'
import { renderXml } from '../../xml/element.ts'
import { parseXml } from '../../xml/parse.ts'
import { volumeDisk } from '../volume-device.ts'
import { parseIscsiPool, portalText } from './iscsi-pool.ts'

const TARGET = 'iqn.2003-01.org.example:storage'
const INITIATOR = 'iqn.2003-01.org.example:host-1'
const SECRET = '6a1c7c0e-25e2-4b7e-8c43-0a9d2f6b7e11'
const HOST = `<host name='192.0.2.1' port='3261'/>`
const DEVICE = `<device path='${TARGET}'/>`
const NAME = `<initiator><iqn name='${INITIATOR}'/></initiator>`
const login = (secret: string) => `<auth type='chap' username='weir'><secret ${secret}/></auth>`
const pool = (source: string) =>
  parseIscsiPool('luns', parseXml(`<pool type='iscsi-direct'><source>${source}</source></pool>`))

test('portal, target, initiator, user and secret are those of the definition', () => {
  const portal = { host: '192.0.2.1', port: 3261 }
  const plain = { portal, target: TARGET, initiator: INITIATOR }
  expect(pool(HOST + DEVICE + NAME)).toEqual(plain)
  expect(pool(HOST + DEVICE + NAME + login(`uuid='${SECRET}'`)).login).toEqual({
    user: 'weir',
    secret: { uuid: SECRET },
  })
  expect(pool(HOST + DEVICE + NAME + login(`usage='weir'`)).login).toEqual({
    user: 'weir',
    secret: { usage: 'weir' },
  })
  const usual = pool(`<host name='2001:db8::1'/>${DEVICE}${NAME}`)
  expect(portalText(usual.portal)).toBe('[2001:db8::1]:3260')
})

test.each([DEVICE + NAME, HOST + NAME, HOST + DEVICE])(
  'a definition with only %s is refused',
  (source) => {
    expect(() => pool(source)).toThrow('Storage pool luns names no portal, target or initiator.')
  },
)

test("a guest's disk is the part of the LUN behind its label", () => {
  const iscsi = {
    ...pool(HOST + DEVICE + NAME + login(`uuid='${SECRET}'`)),
    ...{ lun: 7, bytes: 4096 },
  }
  const volume = {
    ...{ store: 'store', id: newId<VolumeId>(), attachmentId: newId<AttachmentId>() },
    ...{ isReadOnly: false, isShared: false, path: `${TARGET}/7`, iscsi },
  }

  const xml = renderXml(volumeDisk(volume, 'vdb'))

  expect(xml).toContain('<disk type="network" device="disk">')
  expect(xml).toContain(
    `<source protocol="iscsi" name="${TARGET}/7"><host name="192.0.2.1" port="3261"></host>` +
      `<initiator><iqn name="${INITIATOR}"></iqn></initiator>` +
      '<slices><slice type="storage" offset="1048576" size="4096"></slice></slices>' +
      `<auth username="weir"><secret type="iscsi" uuid="${SECRET}"></secret></auth></source>`,
  )
})
