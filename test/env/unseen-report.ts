/** The report of a host whose backend was never seen. */
export const UNSEEN_REPORT = {
  zone: null,
  driver: 'fake',
  simulated: true,
  capabilities: [],
  down: 'never seen',
  inventory: null,
  instances: [],
  startedAt: 0,
} as const
