-- Clicks are counted with their links locked by ascending id. So must everything else that touches several links, or two
-- transactions may each wait for the other.
CREATE OR REPLACE FUNCTION touch_links_of_program() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM referral_links WHERE program_id = NEW.id ORDER BY id FOR NO KEY UPDATE;
    UPDATE referral_links SET status = status WHERE program_id = NEW.id;
    RETURN NULL;
END $$;
