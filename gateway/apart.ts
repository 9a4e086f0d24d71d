import { installFastResolver } from '#common/install-fast-resolver.ts'

// The program that a gateway begins for what may have ended a process: see `Apart`.

installFastResolver()
const { runApart } = await import('./run-apart.ts')
await runApart(process.env)
