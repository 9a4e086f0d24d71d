import { installFastResolver } from '#common/install-fast-resolver.ts'

// The program that a gateway begins for what may have ended a process: see `IsolatedRunner`.

installFastResolver()
const { runIsolated } = await import('./run-isolated.ts')
await runIsolated(process.env)
