import { createAccount, encodeActivation } from '@nats-io/jwt'
import { newKeyPair } from '#common/bus/native-key-pair.ts'
import { type CellAccount, cellFeedSubject, cellServiceSubject } from './accounts.ts'

/** A cell's account with the key that owns it. */
export interface OwnedCellAccount extends CellAccount {
  /** Private nkey (`SA…`): secret; signs the credentials of the cell's processes. */
  readonly seed: string
}

/** Makes a key pair for a cell and the activations by which only `gatewayKey`'s account may import from it. */
export async function createCellAccount(
  cellId: string,
  gatewayKey: string,
): Promise<OwnedCellAccount> {
  const pair = newKeyPair(createAccount)
  return {
    cellId,
    publicKey: pair.getPublicKey(),
    seed: new TextDecoder().decode(pair.getSeed()),
    serviceActivation: await encodeActivation('service', gatewayKey, pair, 'service', {
      subject: cellServiceSubject(cellId),
    }),
    feedActivation: await encodeActivation('feed', gatewayKey, pair, 'stream', {
      subject: cellFeedSubject(cellId),
    }),
  }
}
