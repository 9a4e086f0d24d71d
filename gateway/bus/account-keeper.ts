import type { Account } from '@nats-io/jwt'
import { type CellAccount, cellAccount, gatewayAccount, revokedAccount } from './accounts.ts'
import { type BusOperator, pushAccount } from './push-account.ts'

/** An account that the bus is to know, or, once it is revoked, refuse. */
export interface KeptAccount extends CellAccount {
  /** Null while it is good. */
  readonly revokedAt: Date | null
  /** Public nkeys of its users that were shut out. */
  readonly shutOut: readonly string[]
}

interface Claims {
  readonly name: string
  readonly publicKey: string
  readonly account: Partial<Account>
  /** The claims as text, to tell whether they have changed. */
  readonly text: string
}

/**
 * Keeps the accounts of the bus as they are written down. Several keepers, in as many gateways, agree in the end: each
 * reads again after what it has pushed, so that the last push of all holds what was written before it.
 */
export class AccountPublisher {
  readonly #operator: BusOperator
  readonly #gatewayKey: string
  readonly #written: () => Promise<readonly KeptAccount[]>
  /** The accounts that this keeper pushed last, by public key. */
  readonly #pushed = new Map<string, string>()
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    operator: BusOperator,
    gatewayKey: string,
    written: () => Promise<readonly KeptAccount[]>,
  ) {
    this.#operator = operator
    this.#gatewayKey = gatewayKey
    this.#written = written
  }

  /**
   * Afterwards the bus has the accounts as they were written down when this was called, or later. A revoked one has
   * lost its connections. Throws `unavailable` when the bus does not take them. Returns how many had changed.
   */
  async keep(): Promise<number> {
    const kept = this.#turn.then(() => this.#keep())
    this.#turn = kept.catch(() => undefined)
    return kept
  }

  /** From now on nothing counts as pushed: the bus may have lost it. */
  forget(): void {
    this.#pushed.clear()
  }

  async #keep(): Promise<number> {
    let pushed = 0
    for (;;) {
      const changed = this.#changed(claimsOf(this.#gatewayKey, await this.#written()))
      if (changed.length === 0) return pushed
      for (const { name, publicKey, account, text } of changed) {
        await pushAccount(this.#operator, name, publicKey, account)
        this.#pushed.set(publicKey, text)
      }
      pushed += changed.length
    }
  }

  #changed(all: readonly Claims[]): readonly Claims[] {
    return all.filter(({ publicKey, text }) => this.#pushed.get(publicKey) !== text)
  }
}

/** Cells that are let in come before the gateways that import from them, and after these those that are shut out. */
function claimsOf(gatewayKey: string, accounts: readonly KeptAccount[]): readonly Claims[] {
  const good = accounts.filter(({ revokedAt }) => revokedAt === null)
  const revoked = accounts.filter(({ revokedAt }) => revokedAt !== null)
  return [
    ...good.map((each) =>
      claims(each.cellId, each.publicKey, cellAccount(each.cellId, each.shutOut)),
    ),
    claims('gateway', gatewayKey, gatewayAccount(good)),
    ...revoked.map((each) => claims(each.cellId, each.publicKey, revokedAccount())),
  ]
}

function claims(name: string, publicKey: string, account: Partial<Account>): Claims {
  return { name, publicKey, account, text: JSON.stringify(account) }
}
