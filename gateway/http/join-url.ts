import { withoutTrailing } from '#common/without-trailing.ts'
import type { GatewayConfig } from '../config.ts'
import type { Links } from './links.ts'

/** Where cells and hosts elsewhere reach this deployment, without a slash at its end. */
export function joinUrl({ joinUrl: own }: Pick<GatewayConfig, 'joinUrl'>, { root }: Links): string {
  return own === undefined ? root : withoutTrailing(own, '/')
}
