import { systemClock } from '#common/clock.ts'
import { readRelease } from '#common/release.ts'
import { AllGateways } from './app/federation/all-gateways.ts'
import { ownHealth } from './app/federation/own-health.ts'
import { SharedSettings } from './app/shared-settings.ts'
import type { GatewayConfig } from './config.ts'
import type { Gateway } from './context.ts'

/** What gateways tell each other over the bus. */
export interface GatewayExchange {
  readonly gateways: AllGateways
  readonly sharedSettings: SharedSettings
}

/** Afterwards this gateway answers the others, until `parts` are disposed of. */
export function openExchange(
  parts: AsyncDisposableStack,
  config: GatewayConfig,
  own: Pick<Gateway, 'db' | 'nats' | 'log' | 'certificate' | 'compute'>,
): GatewayExchange {
  const { nats, log, compute } = own
  const peers = () => compute.peers()
  const { processName: gateway, natsCredentialsFile: bus, natsOperator } = config
  const credentialFiles = { bus, system: natsOperator?.systemCredentialsFile }
  const looked = { ...own, clock: systemClock, gateway, release: readRelease(), credentialFiles }
  return {
    gateways: parts.use(new AllGateways({ nats, log, own: () => ownHealth(looked), peers })),
    sharedSettings: parts.use(new SharedSettings({ nats, log, compute, peers })),
  }
}
