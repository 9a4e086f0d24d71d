import { expect, test } from 'vitest'
import { cellAccount, computePermissions, gatewayAccount } from './accounts.ts'

test.each(['cell.other', 'cell>', '*', ''])('an account for cell %j is refused', (cellId) => {
  expect(() => cellAccount(cellId)).toThrow('cannot be part of a subject')
  expect(() => computePermissions(cellId, 'host')).toThrow('cannot be part of a subject')
  expect(() => computePermissions('cell', cellId)).toThrow('cannot be part of a subject')
})

test('gatewayAccount() imports the service and the feed of each cell, and nothing else', () => {
  const cell = {
    cellId: 'c1',
    publicKey: 'AC1',
    serviceActivation: 'service-jwt',
    feedActivation: 'feed-jwt',
  }

  expect(gatewayAccount([cell]).imports).toEqual([
    { name: 'c1', account: 'AC1', type: 'service', subject: 'cell.c1.>', token: 'service-jwt' },
    { name: 'c1', account: 'AC1', type: 'stream', subject: 'ev.c1.>', token: 'feed-jwt' },
  ])
  expect(gatewayAccount([]).imports).toEqual([])
})
