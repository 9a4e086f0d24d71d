import RFB from './novnc/core/rfb.js'
import { CLOSED, protocolsFor, socketUrl, takeToken, tell } from './session.js'

const wsProtocols = protocolsFor(takeToken())
const rfb = new RFB(document.getElementById('console'), socketUrl(), { wsProtocols })
rfb.scaleViewport = true
rfb.focusOnClick = true
rfb.addEventListener('connect', () => tell(''))
rfb.addEventListener('disconnect', () => tell(CLOSED))
